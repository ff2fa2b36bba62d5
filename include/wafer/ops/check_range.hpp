// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string>
#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// i32 as it is; a RunError where an element is not in [low, high), which names `what`, and index and value
/// of the first such element: first along the dimension `along` (that of a batch, say), the only one that is
/// ever cut, so that every plan names the same one.
struct CheckRange {
  std::string what = "value";
  Index low = 0, high = 0;
  Index along = 0;
  std::string op =
      "";  ///< the op that the value is checked for, which the error names then instead of this one
  static constexpr std::string_view name = "wafer.check_range";
  static constexpr bool can_fail = true;
  static constexpr auto attributes() {
    return std::tuple{attr("what", &CheckRange::what), attr("low", &CheckRange::low),
                      attr("high", &CheckRange::high), attr("along", &CheckRange::along),
                      attr("op", &CheckRange::op)};
  }
  /// Throws UserError for another input than one of i32, and unless it has the dimension `along` (which is 0
  /// for a scalar).
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
};

}  // namespace wafer::inline v0
