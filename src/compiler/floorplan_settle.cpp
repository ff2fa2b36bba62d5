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

}  // namespace

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
    effort -= static_cast<Index>(n);
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

namespace {

/// Depth first over kernels in the order given, each in all shapes at all places.
class AllPlaces {
 public:
  AllPlaces(const FloorRequest& request, const FloorOptions& options, Index nodes, FloorPlan& best)
      : request_(request), options_(options), nodes_(nodes), best_(best), kernels_(options.size()) {
    least_time_.assign(options.size() + 1, 0);
    for (std::size_t k = options.size(); k-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      for (const FloorOption& option : options[k]) least = std::min(least, option.time);
      least_time_[k] = std::max(least, least_time_[k + 1]);
    }
  }

  void run() { place(0, 0, 0); }

 private:
  void place(std::size_t k, double time, double length) {
    if (score(std::max(time, least_time_[k]), length) >= best_.score || nodes_ <= 0) return;
    if (k == options_.size()) {
      best_ = floor_plan_of(request_, kernels_);
      return;
    }
    const std::span<const FloorPlan::Kernel> placed(kernels_.data(), k);
    for (const FloorOption& option : options_[k]) {
      if (score(std::max(time, option.time), length) >= best_.score) continue;
      for (Index row = 0; row + option.height <= request_.rows; ++row) {
        for (Index column = 0; column + option.width <= request_.columns; ++column) {
          --nodes_;
          const FloorRectangle rectangle{row, column, option.height, option.width};
          if (!is_free(request_, placed, -1, rectangle)) continue;
          kernels_[k] = {option.shape, option.turned, rectangle};
          place(k + 1, std::max(time, option.time), length_up_to(k));
        }
      }
    }
  }

  double score(double time, double length) const {
    return request_.time_weight * time + request_.length_weight * length;
  }

  double length_up_to(std::size_t last) const {
    double sum = 0;
    for (const FloorConnection& c : request_.connections) {
      if (z(c.from) > last || z(c.to) > last) continue;
      const FloorRectangle &a = kernels_[z(c.from)].place, &b = kernels_[z(c.to)].place;
      const Index down = 2 * (a.row - b.row) + a.height - b.height;
      const Index across = 2 * (a.column - b.column) + a.width - b.width;
      sum += c.weight * static_cast<double>((down < 0 ? -down : down) + (across < 0 ? -across : across)) / 2;
    }
    return sum;
  }

  const FloorRequest& request_;
  const FloorOptions& options_;
  Index nodes_;
  FloorPlan& best_;
  std::vector<FloorPlan::Kernel> kernels_;
  std::vector<double> least_time_;  // of this kernel and those behind it
};

}  // namespace

void try_all(const FloorRequest& request, const FloorOptions& options, Index nodes, FloorPlan& best) {
  AllPlaces(request, options, nodes, best).run();
}

}  // namespace wafer::inline v0
