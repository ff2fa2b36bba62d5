// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_search.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace wafer::inline v0 {

namespace {

constexpr double kFirstTemperature = 0.02;  // of the first cost
constexpr Index kMostOverflow = 40;         // cores; beyond, a change is not looked at
constexpr double kFirstOverflowCost = 0.02, kLastOverflowCost = 1;  // share of the cost for each core

std::size_t z(std::int32_t i) { return static_cast<std::size_t>(i); }

class Annealer {
 public:
  Annealer(const FloorRequest& request, SlicingForest& forest)
      : request_(request), forest_(forest), random_(1), close_(request.kernels.size()), best_(forest) {
    for (const FloorConnection& c : request.connections) {
      if (c.from == c.to) continue;
      close_[z(c.from)].push_back(c.to);
      close_[z(c.to)].push_back(c.from);
    }
  }

  SlicingForest run(Index effort) {
    double cost = cost_now();
    const double first_temperature = kFirstTemperature * cost;
    const Index first_points = forest_.points;
    // Beside outlines: what is placed, and as a rule not many more connections.
    const Index move_effort =
        500 + 60 * static_cast<Index>(std::max(close_.size(), request_.connections.size() / 8));
    for (Index moves = 0;; ++moves) {
      const Index used = forest_.points - first_points + moves * move_effort;
      if (used >= effort) return std::move(best_);
      const double left = 1 - static_cast<double>(used) / static_cast<double>(effort);
      const double temperature = first_temperature * left * left * left;
      overflow_cost_ =
          kFirstOverflowCost + (kLastOverflowCost - kFirstOverflowCost) * (1 - left) * (1 - left);
      remember();
      change();
      const Index over = forest_.overflow();
      if (over <= kMostOverflow) {
        const double changed = cost_now();
        if (changed < cost + 2 * temperature * random_.unit()) {
          cost = changed;
          forest_.keep_curves();
          continue;
        }
      }
      take_back();
    }
  }

 private:
  double cost_now() {
    forest_.place(kernels_);
    const Index over = forest_.overflow();
    const double length = length_of(request_, kernels_);
    if (over == 0 && length < best_length_) {
      best_length_ = length;
      best_.nodes = forest_.nodes;
      best_.roots = forest_.roots;
      best_.unused = forest_.unused;
    }
    return length * (1 + overflow_cost_ * static_cast<double>(over));
  }

  void remember() {
    nodes_ = forest_.nodes;
    roots_ = forest_.roots;
    unused_ = forest_.unused;
  }

  void take_back() {
    std::swap(nodes_, forest_.nodes);
    std::swap(roots_, forest_.roots);
    std::swap(unused_, forest_.unused);
    forest_.restore_curves();
  }

  std::int32_t any_kernel() { return random_.below(close_.size()); }

  /// Mostly one that is connected.
  std::int32_t other_kernel(std::int32_t kernel) {
    const std::vector<std::int32_t>& close = close_[z(kernel)];
    if (close.empty() || random_.below(3) == 0) return any_kernel();
    return close[z(random_.below(close.size()))];
  }

  /// A node above, a few levels up; itself where there is none.
  std::int32_t some_above(std::int32_t node) {
    for (std::int32_t steps = random_.below(4); steps > 0 && forest_.nodes[z(node)].parent >= 0; --steps)
      node = forest_.nodes[z(node)].parent;
    return node;
  }

  // One random number after the other: compilers choose the order of a call's arguments.
  void change() {
    const std::int32_t kernel = any_kernel();
    const std::int32_t what = random_.below(8);
    if (what == 0) return turn_cut(forest_.nodes[z(some_above(kernel))].parent);
    if (what == 1) return swap_children(some_above(kernel));
    if (what <= 3) return exchange(kernel, other_kernel(kernel));
    const std::int32_t there = some_above(what == 4 ? any_kernel() : other_kernel(kernel));
    const std::int32_t node = some_above(kernel);
    what == 4 ? exchange(node, there) : move(node, there);
  }

  void turn_cut(std::int32_t cut) {
    if (cut < 0) return;
    forest_.nodes[z(cut)].beside = !forest_.nodes[z(cut)].beside;
    forest_.refresh_from(cut);
  }

  void swap_children(std::int32_t node) {
    if (forest_.is_kernel(node)) node = forest_.nodes[z(node)].parent;
    if (node >= 0) std::swap(forest_.nodes[z(node)].child[0], forest_.nodes[z(node)].child[1]);
  }

  void exchange(std::int32_t a, std::int32_t b) {
    if (forest_.is_above(a, b) || forest_.is_above(b, a)) return;
    forest_.exchange(a, b);
    forest_.refresh_from(forest_.nodes[z(a)].parent);
    forest_.refresh_from(forest_.nodes[z(b)].parent);
  }

  void move(std::int32_t node, std::int32_t there) {
    const auto empty = std::find(forest_.roots.begin(), forest_.roots.end(), -1);
    if (forest_.is_above(node, there) || forest_.nodes[z(node)].parent == there) return;
    const std::int32_t parent = forest_.nodes[z(node)].parent;
    const std::int32_t above = parent < 0 ? -1 : forest_.nodes[z(parent)].parent;
    forest_.take_out(node);
    if (empty != forest_.roots.end() && random_.below(4) == 0) {
      *empty = node;
    } else {
      const bool beside = random_.below(2) == 0, first = random_.below(2) == 0;
      const std::int32_t cut = forest_.put_beside(node, there, beside, first);
      if (above >= 0) forest_.refresh_from(above);
      forest_.refresh_from(cut);
      return;
    }
    if (above >= 0) forest_.refresh_from(above);
  }

  const FloorRequest& request_;
  SlicingForest& forest_;
  FloorRandom random_;
  double overflow_cost_ = kFirstOverflowCost;
  std::vector<std::vector<std::int32_t>> close_;  // connected kernels
  std::vector<FloorPlan::Kernel> kernels_;
  SlicingForest best_;  // its outlines are not kept
  double best_length_ = std::numeric_limits<double>::infinity();
  std::vector<SlicingForest::Node> nodes_;
  std::vector<std::int32_t> roots_, unused_;
};

}  // namespace

void straighten(const FloorRequest& request, SlicingForest& forest, Index& effort) {
  const auto look = static_cast<Index>(forest.nodes.size() + request.connections.size());
  std::vector<FloorPlan::Kernel> kernels;
  forest.place(kernels);
  double length = length_of(request, kernels);
  bool better = true;
  for (int round = 0; better && round < 20; ++round) {
    better = false;
    for (SlicingForest::Node& node : forest.nodes) {
      if (node.child[0] < 0) continue;
      if (effort < look) return;
      effort -= look;
      std::swap(node.child[0], node.child[1]);
      forest.place(kernels);
      const double now = length_of(request, kernels);
      if (now < length) {
        length = now;
        better = true;
      } else {
        std::swap(node.child[0], node.child[1]);
      }
    }
  }
}

void anneal_length(const FloorRequest& request, SlicingForest& forest, Index effort) {
  forest = Annealer(request, forest).run(effort);
}

}  // namespace wafer::inline v0
