// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace wafer::inline v0 {

/// The outlines that a group of kernels can have: the least width at each height and the least height at each
/// width, both up to an extent that all curves share. `kTooLong` where there is none.
struct ShapeCurve {
  static constexpr std::int16_t kTooLong = 16'000;
  static constexpr std::size_t kBlock = 16;  // an extent and one more is a multiple
  std::vector<std::int16_t> width_at, height_at;

  explicit ShapeCurve(Index extent = 0)
      : width_at(static_cast<std::size_t>(extent + 1), kTooLong), height_at(width_at) {}

  /// One group left of another, and one above another.
  void set_beside(const ShapeCurve& a, const ShapeCurve& b);
  void set_above(const ShapeCurve& a, const ShapeCurve& b);
  /// The best of both divisions, for a group that is cut in two in several ways.
  void add_both(const ShapeCurve& a, const ShapeCurve& b);
  /// Makes both sides say the same after add_both() or when outlines were entered.
  void agree();
};

/// least = min(least, a + b), number by number.
void lower_to_sum(std::vector<std::int16_t>& least, const std::vector<std::int16_t>& a,
                  const std::vector<std::int16_t>& b);

/// A way to place one kernel.
struct FloorOption {
  Index height = 0, width = 0;
  double time = 0;
  std::int32_t shape = 0;
  bool turned = false;
};

/// All options of a kernel that fit in the mesh, memory and time, turned ones too, from the lowest and
/// narrowest on.
std::vector<FloorOption> floor_options(const FloorKernel& kernel, const FloorRequest& request);

/// Those that take at most `time`, none both higher and wider than another: from the lowest to the highest,
/// so from the widest to the narrowest.
std::vector<FloorOption> floor_front(std::span<const FloorOption> options, double time);

ShapeCurve curve_of(std::span<const FloorOption> front, Index extent);

}  // namespace wafer::inline v0
