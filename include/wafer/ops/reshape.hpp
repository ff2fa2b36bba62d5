// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>
#include <vector>

namespace wafer::inline v0 {

/// The same elements in row-major order under another shape of as many. Any dtype.
/// A named axis stays outermost in its dimension; extents are greatest ones.
struct Reshape {
  std::vector<Index> shape;
  static constexpr std::string_view name = "wafer.reshape";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{attr("shape", &Reshape::shape)}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Cost cost(const Types& in) const;
  Alias alias(const Types& in) const;
};

/// One extent may be -1: what the others leave. x itself where it has the shape already.
/// Throws UserError where the numbers of elements differ.
Tensor reshape(Tensor x, const std::vector<Index>& shape);

}  // namespace wafer::inline v0
