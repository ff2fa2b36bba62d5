// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// max(x, 0) of each element; NaN stays NaN, and the gradient at 0 is 0, as in PyTorch.
/// f32 of any shape, or a scalar of f64.
struct Relu {
  static constexpr std::string_view name = "wafer.relu";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

/// Of x and dy: x > 0 ? dy : 0. It has no gradient of its own.
struct ReluGradient {
  static constexpr std::string_view name = "wafer.relu_gradient";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

Tensor relu(Tensor x);

}  // namespace wafer::inline v0
