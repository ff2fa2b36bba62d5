// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/floorplan_tree.hpp"

#include <wafer/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace wafer::inline v0 {

using KernelOrder = std::span<const std::int32_t>;

/// The outlines of all stretches of a row of leaves: the best over each way to cut a stretch in two.
class StretchTable {
 public:
  /// Stretches of at most `longest` leaves; 0: all.
  StretchTable(const std::vector<const ShapeCurve*>& leaves, Index extent, Index& points,
               std::size_t longest = 0)
      : leaves_(leaves), count_(leaves.size()) {
    if (longest == 0 || longest > count_) longest = count_;
    table_.resize(count_ * (count_ + 1));
    for (std::size_t length = 2; length <= longest; ++length) {
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

inline std::vector<const ShapeCurve*> curves_of(const FloorShapes& shapes, KernelOrder order) {
  std::vector<const ShapeCurve*> curves;
  for (const std::int32_t kernel : order) curves.push_back(&shapes.curves[static_cast<std::size_t>(kernel)]);
  return curves;
}

/// Builds the tree of a stretch in a box.
class StretchBuilder {
 public:
  StretchBuilder(const FloorShapes& shapes, SlicingForest& forest, Index& points)
      : shapes_(shapes), forest_(forest), points_(points) {}

  std::int32_t build(const StretchTable& table, const std::vector<KernelOrder>& leaves, std::size_t begin,
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
  std::int32_t build_leaf(KernelOrder kernels, Index height, Index width) {
    if (kernels.size() == 1) return kernels[0];
    const StretchTable table(curves_of(shapes_, kernels), shapes_.extent, points_);
    std::vector<KernelOrder> leaves;
    for (std::size_t k = 0; k < kernels.size(); ++k) leaves.push_back(kernels.subspan(k, 1));
    return build(table, leaves, 0, kernels.size(), height, width);
  }

  const FloorShapes& shapes_;
  SlicingForest& forest_;
  Index& points_;
};

/// Plans of rows, one above the other, in which kernels come in this order, forth and back. Each row is a
/// line of groups of at most `group` kernels, which are cut as is best.
class RowPlans {
 public:
  RowPlans(const FloorShapes& shapes, std::span<const std::int32_t> order, const FloorRectangle& region,
           std::size_t group, std::size_t most_rows, Index& points);

  /// Of so many rows; `kTooLong` where there is none.
  Index least_height(std::size_t rows) const { return height_[rows].back(); }
  void build(std::size_t rows, SlicingForest& forest) const;

 private:
  std::vector<std::vector<std::int16_t>> widths_from(std::size_t begin, std::size_t end) const;

  const FloorShapes& shapes_;
  std::vector<std::int32_t> order_;
  FloorRectangle region_;
  std::size_t group_;
  Index& points_;
  std::vector<std::vector<std::int16_t>> row_height_;  // least height of a row, by its begin and end
  std::vector<std::vector<Index>> height_;             // of the first kernels in so many rows
  StretchTable groups_;
};

}  // namespace wafer::inline v0
