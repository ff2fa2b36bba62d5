// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_search.hpp"

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

std::size_t z(std::int32_t i) { return static_cast<std::size_t>(i); }

bool meet(const FloorRectangle& a, const FloorRectangle& b) {
  return a.row < b.row + b.height && b.row < a.row + a.height && a.column < b.column + b.width &&
         b.column < a.column + a.width;
}

bool inside(const FloorRequest& request, const FloorRectangle& r) {
  return r.row >= 0 && r.column >= 0 && r.row + r.height <= request.rows &&
         r.column + r.width <= request.columns;
}

}  // namespace

bool is_free(const FloorRequest& request, std::span<const FloorPlan::Kernel> kernels, std::int32_t except,
             const FloorRectangle& place) {
  if (!inside(request, place)) return false;
  for (const FloorRectangle& fault : request.faulty) {
    if (meet(fault, place)) return false;
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (k != z(except) && meet(kernels[k].place, place)) return false;
  }
  return true;
}

void settle(const FloorRequest& request, const FloorShapes& shapes, Index effort, FloorPlan& best) {
  const std::size_t n = best.kernels.size();
  std::vector<std::vector<std::size_t>> connections(n);  // of each kernel
  for (std::size_t c = 0; c < request.connections.size(); ++c) {
    connections[z(request.connections[c].from)].push_back(c);
    if (request.connections[c].to != request.connections[c].from)
      connections[z(request.connections[c].to)].push_back(c);
  }
  std::vector<FloorPlan::Kernel>& kernels = best.kernels;
  const auto length_at = [&](std::int32_t kernel) {
    double sum = 0;
    for (const std::size_t c : connections[z(kernel)]) {
      const FloorConnection& connection = request.connections[c];
      const FloorRectangle &a = kernels[z(connection.from)].place, &b = kernels[z(connection.to)].place;
      const Index down = 2 * (a.row - b.row) + a.height - b.height;
      const Index across = 2 * (a.column - b.column) + a.width - b.width;
      sum += connection.weight *
             static_cast<double>((down < 0 ? -down : down) + (across < 0 ? -across : across));
    }
    return sum;
  };
  const auto try_place = [&](std::int32_t kernel, const FloorPlan::Kernel& other) {
    effort -= static_cast<Index>(std::max(n, connections[z(kernel)].size()));
    const FloorPlan::Kernel old = kernels[z(kernel)];
    const double before = length_at(kernel);
    kernels[z(kernel)] = other;
    if (length_at(kernel) < before && is_free(request, kernels, kernel, other.place)) return true;
    kernels[z(kernel)] = old;
    return false;
  };
  bool better = true;
  while (better && effort > 0) {
    better = false;
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(n); ++k) {
      if (connections[z(k)].empty()) continue;
      for (Index step = std::max(request.rows, request.columns) / 2; step > 0; step /= 2) {
        for (const auto& [down, across] : {std::pair{0, 1}, {0, -1}, {1, 0}, {-1, 0}}) {
          FloorPlan::Kernel moved = kernels[z(k)];
          moved.place.row += down * step;
          moved.place.column += across * step;
          while (effort > 0 && try_place(k, moved)) {
            better = true;
            moved.place.row += down * step;
            moved.place.column += across * step;
          }
        }
      }
      for (const FloorOption& option : shapes.fronts[z(k)]) {
        const FloorRectangle old = kernels[z(k)].place;
        // Against each corner of where it lies, and in the middle.
        for (const auto& [down, across] : {std::pair{0, 0}, {0, 2}, {2, 0}, {2, 2}, {1, 1}}) {
          FloorPlan::Kernel other{option.shape, option.turned, old};
          other.place.row += (old.height - option.height) * down / 2;
          other.place.column += (old.width - option.width) * across / 2;
          other.place.height = option.height;
          other.place.width = option.width;
          if (effort > 0 && try_place(k, other)) better = true;
        }
      }
    }
  }
  best = floor_plan_of(request, std::move(best.kernels));
}

}  // namespace wafer::inline v0
