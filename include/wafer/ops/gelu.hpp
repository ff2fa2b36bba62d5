// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³))) of each element: the tanh form of Hendrycks and Gimpel,
/// arXiv:1606.08415.
/// f32 of any shape, or a scalar of f64.
struct Gelu {
  static constexpr std::string_view name = "wafer.gelu";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

/// Of x and dy: gelu'(x) · dy. It has no gradient of its own.
struct GeluGradient {
  static constexpr std::string_view name = "wafer.gelu_gradient";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

Tensor gelu(Tensor x);

}  // namespace wafer::inline v0
