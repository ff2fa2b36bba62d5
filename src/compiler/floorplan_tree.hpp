// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/floorplan_curve.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// What kernels may look like when none may take longer than a time.
struct FloorShapes {
  FloorShapes(const FloorRequest& request, std::span<const std::vector<FloorOption>> options,
              double most_time);

  double time = 0;
  Index extent = 0;                              // of the curves: some more than the mesh
  std::vector<std::vector<FloorOption>> fronts;  // of each kernel
  std::vector<ShapeCurve> curves;
};

/// By how many cores a region would have to be longer in both directions; 0: it fits.
Index overflow_of(const ShapeCurve& curve, const FloorRectangle& region);

/// Free rectangles of the mesh (regions), each cut in two again and again until each piece holds one kernel:
/// a slicing floor plan. Kernel k is node k; what cuts are the nodes behind them.
class SlicingForest {
 public:
  struct Node {
    std::int32_t parent = -1;  // -1: the root of a region
    std::int32_t child[2] = {-1, -1};
    bool beside = false;  // the first child is left of the second one, otherwise above it
  };

  SlicingForest(const FloorRequest& request, std::span<const FloorRectangle> regions);

  std::vector<Node> nodes;
  std::vector<std::int32_t> roots;   // by region; -1: empty
  std::vector<std::int32_t> unused;  // cuts

  void clear();
  void set_shapes(const FloorShapes& shapes);

  bool is_kernel(std::int32_t node) const { return node < kernels_; }
  bool is_above(std::int32_t node, std::int32_t below) const;
  /// Takes a node with all beneath it out of its tree, or puts it beside another one, by a new cut.
  void take_out(std::int32_t node);
  std::int32_t put_beside(std::int32_t node, std::int32_t there, bool beside, bool first);
  /// Lets two nodes, neither above the other, change places.
  void exchange(std::int32_t a, std::int32_t b);

  /// The outlines of a node and of all above it anew. What they were is remembered until it is either
  /// kept or restored.
  void refresh_from(std::int32_t node);
  void keep_curves();
  void restore_curves();
  Index points = 0;  // of curves that were computed

  /// Cores by which the kernels are too long for the regions; 0: all fit.
  Index overflow() const;
  /// Places all kernels, beyond the regions where they overflow.
  void place(std::vector<FloorPlan::Kernel>& kernels) const;

 private:
  const ShapeCurve& curve(std::int32_t node) const;
  void refresh(std::int32_t node);
  void put_in_place_of(std::int32_t old, std::int32_t node);
  FloorPlan::Kernel placed(std::int32_t kernel, const FloorRectangle& box) const;

  std::vector<FloorRectangle> regions_;
  std::int32_t kernels_ = 0;
  const FloorShapes* shapes_ = nullptr;
  std::vector<ShapeCurve> cuts_, spare_;
  std::vector<std::pair<std::int32_t, ShapeCurve>> replaced_;
};

/// Sum of weight x L1 distance of centres.
double length_of(const FloorRequest& request, std::span<const FloorPlan::Kernel> kernels);

/// The best of all slicing floor plans whose kernels come in this order, region by region: by how many cores
/// it is too long, at least `kTooLong` where kernels are left over. Where it fits and `forest` is given, the
/// plan is put there. `points` counts points of curves.
Index slice_in_order(const FloorShapes& shapes, std::span<const std::int32_t> order,
                     std::span<const FloorRectangle> regions, SlicingForest* forest, Index& points);

}  // namespace wafer::inline v0
