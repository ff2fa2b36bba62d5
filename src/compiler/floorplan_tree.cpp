// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_tree.hpp"

#include <wafer/core/shape.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

std::size_t z(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

FloorShapes::FloorShapes(const FloorRequest& request, std::span<const std::vector<FloorOption>> options,
                         double most_time)
    : time(most_time) {
  const Index longest = std::max(request.rows, request.columns);
  extent = round_up(longest + longest / 8 + 2, ShapeCurve::kBlock) - 1;
  for (const std::vector<FloorOption>& of_kernel : options) {
    fronts.push_back(floor_front(of_kernel, time));
    curves.push_back(curve_of(fronts.back(), extent));
  }
}

Index overflow_of(const ShapeCurve& curve, const FloorRectangle& region) {
  const auto extent = static_cast<Index>(curve.width_at.size()) - 1;
  for (Index over = 0; std::max(region.height, region.width) + over <= extent; ++over) {
    if (curve.width_at[static_cast<std::size_t>(region.height + over)] <= region.width + over) return over;
  }
  return ShapeCurve::kTooLong;
}

SlicingForest::SlicingForest(const FloorRequest& request, std::span<const FloorRectangle> regions)
    : roots(regions.size(), -1),
      regions_(regions.begin(), regions.end()),
      kernels_(static_cast<std::int32_t>(request.kernels.size())) {
  nodes.resize(2 * request.kernels.size());
  clear();
}

void SlicingForest::clear() {
  std::fill(nodes.begin(), nodes.end(), Node{});
  std::fill(roots.begin(), roots.end(), -1);
  unused.clear();
  for (auto cut = static_cast<std::int32_t>(nodes.size()) - 1; cut >= kernels_; --cut) unused.push_back(cut);
}

void SlicingForest::set_shapes(const FloorShapes& shapes) {
  shapes_ = &shapes;
  cuts_.assign(nodes.size() - z(kernels_), ShapeCurve(shapes.extent));
  replaced_.clear();
  // From the leaves up: a node after its children.
  std::vector<std::int32_t> waiting, found;
  for (const std::int32_t root : roots) {
    if (root >= 0) waiting.push_back(root);
  }
  while (!waiting.empty()) {
    const std::int32_t node = waiting.back();
    waiting.pop_back();
    if (is_kernel(node)) continue;
    found.push_back(node);
    for (const std::int32_t child : nodes[z(node)].child) waiting.push_back(child);
  }
  for (auto node = found.rbegin(); node != found.rend(); ++node) refresh(*node);
  replaced_.clear();
}

const ShapeCurve& SlicingForest::curve(std::int32_t node) const {
  return is_kernel(node) ? shapes_->curves[z(node)] : cuts_[z(node - kernels_)];
}

void SlicingForest::refresh(std::int32_t node) {
  if (spare_.empty()) spare_.emplace_back(shapes_->extent);
  ShapeCurve fresh = std::move(spare_.back());
  spare_.pop_back();
  const Node& cut = nodes[z(node)];
  if (cut.beside) {
    fresh.set_beside(curve(cut.child[0]), curve(cut.child[1]));
  } else {
    fresh.set_above(curve(cut.child[0]), curve(cut.child[1]));
  }
  points += shapes_->extent;
  std::swap(fresh, cuts_[z(node - kernels_)]);
  replaced_.emplace_back(node, std::move(fresh));
}

void SlicingForest::refresh_from(std::int32_t node) {
  // The first node or the one above may have other children than before; further up, what stays the same
  // changes nothing.
  for (int level = 0; node >= 0; node = nodes[z(node)].parent, ++level) {
    if (is_kernel(node)) continue;
    refresh(node);
    if (level >= 2 && curve(node).width_at == replaced_.back().second.width_at) return;
  }
}

void SlicingForest::keep_curves() {
  for (auto& [node, curve] : replaced_) spare_.push_back(std::move(curve));
  replaced_.clear();
}

void SlicingForest::restore_curves() {
  for (; !replaced_.empty(); replaced_.pop_back()) {
    auto& [node, curve] = replaced_.back();
    std::swap(cuts_[z(node - kernels_)], curve);
    spare_.push_back(std::move(curve));
  }
}

Index SlicingForest::overflow() const {
  Index sum = 0;
  for (std::size_t r = 0; r < roots.size(); ++r) {
    if (roots[r] >= 0) sum += overflow_of(curve(roots[r]), regions_[r]);
  }
  return sum;
}

void SlicingForest::take_out(std::int32_t node) {
  const std::int32_t cut = nodes[z(node)].parent;
  if (cut < 0) {
    *std::find(roots.begin(), roots.end(), node) = -1;
    return;
  }
  const std::int32_t sibling = nodes[z(cut)].child[nodes[z(cut)].child[0] == node ? 1 : 0];
  put_in_place_of(cut, sibling);
  nodes[z(node)].parent = -1;
  unused.push_back(cut);
}

std::int32_t SlicingForest::put_beside(std::int32_t node, std::int32_t there, bool beside, bool first) {
  const std::int32_t cut = unused.back();
  unused.pop_back();
  put_in_place_of(there, cut);
  nodes[z(cut)].beside = beside;
  nodes[z(cut)].child[0] = first ? node : there;
  nodes[z(cut)].child[1] = first ? there : node;
  nodes[z(node)].parent = nodes[z(there)].parent = cut;
  return cut;
}

void SlicingForest::put_in_place_of(std::int32_t old, std::int32_t node) {
  const std::int32_t parent = nodes[z(old)].parent;
  nodes[z(node)].parent = parent;
  if (parent < 0) {
    *std::find(roots.begin(), roots.end(), old) = node;
  } else {
    nodes[z(parent)].child[nodes[z(parent)].child[0] == old ? 0 : 1] = node;
  }
}

void SlicingForest::exchange(std::int32_t a, std::int32_t b) {
  const auto link = [&](std::int32_t node) -> std::int32_t* {
    const std::int32_t parent = nodes[z(node)].parent;
    if (parent < 0) return &*std::find(roots.begin(), roots.end(), node);
    return &nodes[z(parent)].child[nodes[z(parent)].child[0] == node ? 0 : 1];
  };
  std::int32_t *to_a = link(a), *to_b = link(b);
  std::swap(*to_a, *to_b);
  std::swap(nodes[z(a)].parent, nodes[z(b)].parent);
}

bool SlicingForest::is_above(std::int32_t node, std::int32_t below) const {
  for (; below >= 0; below = nodes[z(below)].parent) {
    if (below == node) return true;
  }
  return false;
}

void SlicingForest::place(std::vector<FloorPlan::Kernel>& kernels) const {
  struct Box {
    std::int32_t node;
    FloorRectangle in;
  };
  std::vector<Box> waiting;
  for (std::size_t r = 0; r < roots.size(); ++r) {
    if (roots[r] < 0) continue;
    FloorRectangle box = regions_[r];
    const Index over = overflow_of(curve(roots[r]), box);
    box.height += over;
    box.width += over;
    waiting.push_back({roots[r], box});
  }
  kernels.resize(z(kernels_));
  while (!waiting.empty()) {
    const auto [node, box] = waiting.back();
    waiting.pop_back();
    if (is_kernel(node)) {
      kernels[z(node)] = placed(node, box);
      continue;
    }
    const Node& cut = nodes[z(node)];
    FloorRectangle one = box, other = box;
    if (cut.beside) {  // what is too wide is left free on both sides
      one.width = curve(cut.child[0]).width_at[static_cast<std::size_t>(box.height)];
      other.width = curve(cut.child[1]).width_at[static_cast<std::size_t>(box.height)];
      one.column += (box.width - one.width - other.width) / 2;
      other.column = one.column + one.width;
    } else {
      one.height = curve(cut.child[0]).height_at[static_cast<std::size_t>(box.width)];
      other.height = curve(cut.child[1]).height_at[static_cast<std::size_t>(box.width)];
      one.row += (box.height - one.height - other.height) / 2;
      other.row = one.row + one.height;
    }
    waiting.push_back({cut.child[0], one});
    waiting.push_back({cut.child[1], other});
  }
}

// The narrowest option that fits, in the middle of its box.
FloorPlan::Kernel SlicingForest::placed(std::int32_t kernel, const FloorRectangle& box) const {
  const std::vector<FloorOption>& front = shapes_->fronts[z(kernel)];
  const auto end = std::partition_point(front.begin(), front.end(),
                                        [&](const FloorOption& o) { return o.height <= box.height; });
  const FloorOption& option = *std::prev(end);
  return {option.shape,
          option.turned,
          {box.row + (box.height - option.height) / 2, box.column + (box.width - option.width) / 2,
           option.height, option.width}};
}

double length_of(const FloorRequest& request, std::span<const FloorPlan::Kernel> kernels) {
  Index plain = 0;
  double length = 0;
  for (const FloorConnection& c : request.connections) {
    const FloorRectangle &a = kernels[z(c.from)].place, &b = kernels[z(c.to)].place;
    const Index down = 2 * (a.row - b.row) + a.height - b.height;
    const Index across = 2 * (a.column - b.column) + a.width - b.width;
    const Index halves = (down < 0 ? -down : down) + (across < 0 ? -across : across);
    if (c.weight == 1) {
      plain += halves;
    } else {
      length += c.weight * static_cast<double>(halves) / 2;
    }
  }
  return length + static_cast<double>(plain) / 2;
}

}  // namespace wafer::inline v0
