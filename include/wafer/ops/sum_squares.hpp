// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Sum of the squares of all elements of an f32 tensor as an f64 scalar, in the order of SumAll.
struct SumSquares {
  static constexpr std::string_view name = "wafer.sum_squares";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Kernels kernels(const Types& in) const;
};

Tensor sum_squares(Tensor x);

}  // namespace wafer::inline v0
