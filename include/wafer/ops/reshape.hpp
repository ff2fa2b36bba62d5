// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>
#include <vector>

namespace wafer::inline v0 {

/// The same elements in row-major order under another shape of as many. Any dtype.
/// A named axis stays outermost in its dimension; extents are greatest ones. Where that is one index, shapes
/// do not show where the axis goes: dimension axis_from[i] of the input, where it is outermost, becomes
/// dimension axis_to[i] of the result. The function `reshape` finds that out, and refuses a shape in which an
/// axis would be lost.
struct Reshape {
  std::vector<Index> shape{};
  std::vector<Index> axis_from{}, axis_to{};
  static constexpr std::string_view name = "wafer.reshape";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("shape", &Reshape::shape), attr("axis_from", &Reshape::axis_from),
                      attr("axis_to", &Reshape::axis_to)};
  }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Cost cost(const Types& in) const;
  Alias alias(const Types& in) const;
};

/// One extent may be -1: what the others leave. x itself where it has the shape already. A named axis of one
/// index goes to the first dimension of 1 at its place, or, where there is none, outermost into the next one.
/// Throws UserError where the numbers of elements differ, and where a named axis would not be outermost in a
/// dimension of the result.
Tensor reshape(Tensor x, const std::vector<Index>& shape);

}  // namespace wafer::inline v0
