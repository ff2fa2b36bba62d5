// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_stretch.hpp"

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostLeaves = 120;  // of one table; more are grouped first

}  // namespace

Index slice_in_order(const FloorShapes& shapes, KernelOrder order, std::span<const FloorRectangle> regions,
                     SlicingForest* forest, Index& points) {
  const std::size_t group = (order.size() + kMostLeaves - 1) / kMostLeaves;
  std::vector<KernelOrder> leaves;
  for (std::size_t begin = 0; begin < order.size(); begin += group)
    leaves.push_back(order.subspan(begin, std::min(group, order.size() - begin)));
  std::vector<ShapeCurve> grouped;
  std::vector<const ShapeCurve*> curves = curves_of(shapes, order);
  if (group > 1) {
    for (const KernelOrder& leaf : leaves) {
      const StretchTable table(curves_of(shapes, leaf), shapes.extent, points);
      grouped.push_back(table.at(0, leaf.size()));
    }
    curves.clear();
    for (const ShapeCurve& curve : grouped) curves.push_back(&curve);
  }
  const StretchTable table(curves, shapes.extent, points);
  const std::size_t all = leaves.size();
  if (forest != nullptr) forest->clear();
  std::size_t begin = 0;
  for (std::size_t r = 0; r < regions.size() && begin < all; ++r) {
    std::size_t end = all;
    if (r + 1 < regions.size()) {
      while (end > begin && overflow_of(table.at(begin, end), regions[r]) > 0) --end;
    }
    if (end == begin) continue;
    if (const Index over = overflow_of(table.at(begin, end), regions[r]); over > 0) return over;
    if (forest != nullptr) {
      StretchBuilder builder(shapes, *forest, points);
      forest->roots[r] = builder.build(table, leaves, begin, end, regions[r].height, regions[r].width);
    }
    begin = end;
  }
  return begin == all ? 0 : ShapeCurve::kTooLong;
}

}  // namespace wafer::inline v0
