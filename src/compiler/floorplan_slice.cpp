// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_tree.hpp"

#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostLeaves = 120;  // of one table; more are grouped first

/// The outlines of all stretches of a row of leaves: the best over each way to cut a stretch in two.
class StretchTable {
 public:
  StretchTable(const std::vector<const ShapeCurve*>& leaves, Index extent, Index& points)
      : leaves_(leaves), count_(leaves.size()) {
    table_.resize(count_ * (count_ + 1));
    for (std::size_t length = 2; length <= count_; ++length) {
      for (std::size_t begin = 0; begin + length <= count_; ++begin) {
        ShapeCurve& whole = table_[begin * (count_ + 1) + begin + length];
        whole = ShapeCurve(extent);
        for (std::size_t cut = begin + 1; cut < begin + length; ++cut)
          whole.add_both(at(begin, cut), at(cut, begin + length));
        whole.agree();
        points += extent * static_cast<Index>(length);
      }
    }
  }

  const ShapeCurve& at(std::size_t begin, std::size_t end) const {
    return end == begin + 1 ? *leaves_[begin] : table_[begin * (count_ + 1) + end];
  }

  /// The cut of a stretch that fits in a box, as even as possible.
  struct Cut {
    std::size_t at = 0;
    bool beside = false;
  };
  Cut cut_of(std::size_t begin, std::size_t end, Index height, Index width) const {
    const auto h = static_cast<std::size_t>(height), w = static_cast<std::size_t>(width);
    for (std::size_t k = 0; k < end - begin - 1; ++k) {  // from the middle outwards
      const std::size_t middle = begin + (end - begin) / 2;
      const std::size_t cut = k % 2 == 0 ? middle - k / 2 : middle + (k + 1) / 2;
      const ShapeCurve &a = at(begin, cut), &b = at(cut, end);
      if (a.width_at[h] + b.width_at[h] <= width) return {cut, true};
      if (a.height_at[w] + b.height_at[w] <= height) return {cut, false};
    }
    throw InternalError("a stretch of kernels fits, but none of its cuts does");
  }

 private:
  std::vector<const ShapeCurve*> leaves_;
  std::size_t count_;
  std::vector<ShapeCurve> table_;  // by begin and end
};

using Order = std::span<const std::int32_t>;

std::vector<const ShapeCurve*> curves_of(const FloorShapes& shapes, Order order) {
  std::vector<const ShapeCurve*> curves;
  for (const std::int32_t kernel : order) curves.push_back(&shapes.curves[static_cast<std::size_t>(kernel)]);
  return curves;
}

/// Builds the tree of a stretch in a box.
class Builder {
 public:
  Builder(const FloorShapes& shapes, SlicingForest& forest, Index& points)
      : shapes_(shapes), forest_(forest), points_(points) {}

  std::int32_t build(const StretchTable& table, const std::vector<Order>& leaves, std::size_t begin,
                     std::size_t end, Index height, Index width) {
    if (end == begin + 1) return build_leaf(leaves[begin], height, width);
    const StretchTable::Cut cut = table.cut_of(begin, end, height, width);
    Index first_height = height, first_width = width, second_height = height, second_width = width;
    const ShapeCurve &a = table.at(begin, cut.at), &b = table.at(cut.at, end);
    if (cut.beside) {
      first_width = a.width_at[static_cast<std::size_t>(height)];
      second_width = b.width_at[static_cast<std::size_t>(height)];
    } else {
      first_height = a.height_at[static_cast<std::size_t>(width)];
      second_height = b.height_at[static_cast<std::size_t>(width)];
    }
    const std::int32_t node = forest_.unused.back();
    forest_.unused.pop_back();
    const std::int32_t first = build(table, leaves, begin, cut.at, first_height, first_width);
    const std::int32_t second = build(table, leaves, cut.at, end, second_height, second_width);
    forest_.nodes[static_cast<std::size_t>(node)] = {-1, {first, second}, cut.beside};
    forest_.nodes[static_cast<std::size_t>(first)].parent = node;
    forest_.nodes[static_cast<std::size_t>(second)].parent = node;
    return node;
  }

 private:
  std::int32_t build_leaf(Order kernels, Index height, Index width) {
    if (kernels.size() == 1) return kernels[0];
    const StretchTable table(curves_of(shapes_, kernels), shapes_.extent, points_);
    std::vector<Order> leaves;
    for (std::size_t k = 0; k < kernels.size(); ++k) leaves.push_back(kernels.subspan(k, 1));
    return build(table, leaves, 0, kernels.size(), height, width);
  }

  const FloorShapes& shapes_;
  SlicingForest& forest_;
  Index& points_;
};

}  // namespace

Index slice_in_order(const FloorShapes& shapes, Order order, std::span<const FloorRectangle> regions,
                     SlicingForest* forest, Index& points) {
  const std::size_t group = (order.size() + kMostLeaves - 1) / kMostLeaves;
  std::vector<Order> leaves;
  for (std::size_t begin = 0; begin < order.size(); begin += group)
    leaves.push_back(order.subspan(begin, std::min(group, order.size() - begin)));
  std::vector<ShapeCurve> grouped;
  std::vector<const ShapeCurve*> curves = curves_of(shapes, order);
  if (group > 1) {
    for (const Order& leaf : leaves) {
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
      Builder builder(shapes, *forest, points);
      forest->roots[r] = builder.build(table, leaves, begin, end, regions[r].height, regions[r].width);
    }
    begin = end;
  }
  return begin == all ? 0 : ShapeCurve::kTooLong;
}

}  // namespace wafer::inline v0
