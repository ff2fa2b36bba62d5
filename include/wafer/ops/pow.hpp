// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// a^b, of each pair of elements under NumPy's broadcasting.
/// In f64, rounded once. The gradient for a base of 0 is that of PyTorch where the exponent is positive.
/// f32 of any shape, or scalars of f64.
struct Pow {
  static constexpr std::string_view name = "wafer.pow";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

Tensor pow(Tensor a, Tensor b);

}  // namespace wafer::inline v0
