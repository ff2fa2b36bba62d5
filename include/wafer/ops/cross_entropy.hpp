// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>
#include <utility>

namespace wafer::inline v0 {

/// Cross-entropy of softmax(logits) for each row: log Σ_j e^(z_j − max) − (z_label − max), which neither
/// overflows nor takes the logarithm of 0; and softmax(logits), which the gradient needs. logits [.., c] of
/// f32, labels [..] of i32 in [0, c) -> [..] and [.., c] of f32.
struct SoftmaxCrossEntropy {
  static constexpr std::string_view name = "wafer.softmax_cross_entropy";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Cost cost(const Types& in) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

/// Of softmax(logits) [.., c], labels [..] and dloss [..]: (softmax(logits) − one-hot label) · dloss. No
/// gradient of its own.
struct SoftmaxCrossEntropyGradient {
  static constexpr std::string_view name = "wafer.softmax_cross_entropy_gradient";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

/// The mean over all rows: an f32 scalar. A label out of range is a RunError that names row and value.
Tensor cross_entropy(Tensor logits, Tensor label);

/// What `logits | cross_entropy(label)` applies.
struct CrossEntropyWith {
  Tensor label;
  Tensor operator()(Tensor logits) const { return cross_entropy(std::move(logits), label); }
};
inline CrossEntropyWith cross_entropy(Tensor label) { return {std::move(label)}; }

}  // namespace wafer::inline v0
