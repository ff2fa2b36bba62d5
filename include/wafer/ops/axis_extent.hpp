// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <span>
#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Run-time extent of a named axis of the graph, times a factor: an f64 scalar. No inputs.
struct AxisExtent {
  Index axis = 0;  ///< Axis::id
  Index factor = 1;
  static constexpr std::string_view name = "wafer.axis_extent";
  static constexpr auto attributes() {
    return std::tuple{attr("axis", &AxisExtent::axis), attr("factor", &AxisExtent::factor)};
  }
  /// Throws UserError where there are inputs. A step throws RunError where the graph has no such axis.
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
};

/// Product of the run-time extents of these dimensions of x (negative ones count from the end): an f64
/// scalar, 1 for no dimensions. What a mean divides by. Throws UserError for a dimension out of range.
Tensor element_count(const Tensor& x, std::span<const int> dims);

}  // namespace wafer::inline v0
