// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_stretch.hpp"

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::int16_t kTooLong = ShapeCurve::kTooLong;

/// A balanced tree of cuts in one direction over these nodes.
std::int32_t join(SlicingForest& forest, std::span<const std::int32_t> nodes, bool beside) {
  if (nodes.size() == 1) return nodes[0];
  const std::size_t half = nodes.size() / 2;
  const std::int32_t first = join(forest, nodes.first(half), beside),
                     second = join(forest, nodes.subspan(half), beside);
  const std::int32_t cut = forest.unused.back();
  forest.unused.pop_back();
  forest.nodes[static_cast<std::size_t>(cut)] = {-1, {first, second}, beside};
  forest.nodes[static_cast<std::size_t>(first)].parent = cut;
  forest.nodes[static_cast<std::size_t>(second)].parent = cut;
  return cut;
}

}  // namespace

RowPlans::RowPlans(const FloorShapes& shapes, std::span<const std::int32_t> order,
                   const FloorRectangle& region, std::size_t group, std::size_t most_rows, Index& points)
    : shapes_(shapes),
      order_(order.begin(), order.end()),
      region_(region),
      group_(group),
      points_(points),
      groups_(curves_of(shapes, order_), shapes.extent, points, group) {
  const std::size_t n = order_.size();
  row_height_.assign(n, std::vector<std::int16_t>(n + 1, kTooLong));
  for (std::size_t begin = 0; begin < n; ++begin) {
    const auto widths = widths_from(begin, n);
    for (std::size_t end = begin + 1; end < begin + widths.size(); ++end) {
      const auto& width = widths[end - begin];
      const auto found =
          std::partition_point(width.begin(), width.end(), [&](std::int16_t w) { return w > region.width; });
      if (found != width.end()) row_height_[begin][end] = static_cast<std::int16_t>(found - width.begin());
    }
  }
  height_.assign(most_rows + 1, std::vector<Index>(n + 1, kTooLong));
  height_[0][0] = 0;
  for (std::size_t rows = 1; rows <= most_rows; ++rows) {
    for (std::size_t begin = 0; begin < n; ++begin) {
      if (height_[rows - 1][begin] >= kTooLong) continue;
      for (std::size_t end = begin + 1; end <= n; ++end) {
        const Index sum = height_[rows - 1][begin] + row_height_[begin][end];
        height_[rows][end] = std::min(height_[rows][end], sum);
      }
    }
  }
}

// Of the rows that begin there, up to as many kernels as there is room for: the least width at each height.
std::vector<std::vector<std::int16_t>> RowPlans::widths_from(std::size_t begin, std::size_t end) const {
  const auto size = static_cast<std::size_t>(shapes_.extent + 1);
  std::vector<std::vector<std::int16_t>> widths{std::vector<std::int16_t>(size, 0)};
  for (std::size_t to = begin + 1; to <= end; ++to) {
    std::vector<std::int16_t> least(size, kTooLong);
    for (std::size_t length = 1; length <= std::min(group_, to - begin); ++length) {
      lower_to_sum(least, widths[to - begin - length], groups_.at(to - length, to).width_at);
      points_ += shapes_.extent;
    }
    if (least.back() > region_.width) break;
    widths.push_back(std::move(least));
  }
  return widths;
}

void RowPlans::build(std::size_t rows, SlicingForest& forest) const {
  forest.clear();
  std::vector<KernelOrder> leaves;
  for (std::size_t k = 0; k < order_.size(); ++k) leaves.push_back(KernelOrder(order_).subspan(k, 1));
  StretchBuilder builder(shapes_, forest, points_);
  std::vector<std::int32_t> row_nodes;
  std::size_t end = order_.size();
  for (std::size_t row = rows; row > 0; --row) {
    std::size_t begin = 0;
    while (height_[row - 1][begin] + row_height_[begin][end] != height_[row][end]) ++begin;
    const Index height = row_height_[begin][end];
    const auto h = static_cast<std::size_t>(height);
    const auto widths = widths_from(begin, end);
    std::vector<std::int32_t> nodes;
    for (std::size_t to = end; to > begin;) {
      std::size_t length = 1;  // small groups where there is a choice: their kernels are closer to the next
      while (widths[to - begin - length][h] + groups_.at(to - length, to).width_at[h] !=
             widths[to - begin][h])
        ++length;
      const Index width = groups_.at(to - length, to).width_at[h];
      nodes.push_back(builder.build(groups_, leaves, to - length, to, height, width));
      to -= length;
    }
    if (row % 2 == 1) std::reverse(nodes.begin(), nodes.end());
    row_nodes.push_back(join(forest, nodes, true));
    end = begin;
  }
  std::reverse(row_nodes.begin(), row_nodes.end());
  forest.roots[0] = join(forest, row_nodes, false);
}

}  // namespace wafer::inline v0
