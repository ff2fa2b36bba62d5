// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_search.hpp"

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

/// Depth first over kernels in the order given, each in all shapes at all places.
class AllPlaces {
 public:
  AllPlaces(const FloorRequest& request, const FloorOptions& options, Index most, FloorPlan& best)
      : request_(request), options_(options), left_(most), best_(best), kernels_(options.size()) {
    least_time_.assign(options.size() + 1, 0);
    for (std::size_t k = options.size(); k-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      for (const FloorOption& option : options[k]) least = std::min(least, option.time);
      least_time_[k] = std::max(least, least_time_[k + 1]);
    }
  }

  bool run() {
    place(0, 0, 0);
    return left_ > 0;
  }

 private:
  void place(std::size_t k, double time, double length) {
    if (score(std::max(time, least_time_[k]), length) >= best_.score || left_ <= 0) return;
    if (k == options_.size()) {
      best_ = floor_plan_of(request_, kernels_);
      return;
    }
    const std::span<const FloorPlan::Kernel> placed(kernels_.data(), k);
    for (const FloorOption& option : options_[k]) {
      if (score(std::max(time, option.time), length) >= best_.score) continue;
      for (Index row = 0; row + option.height <= request_.rows; ++row) {
        for (Index column = 0; column + option.width <= request_.columns; ++column) {
          --left_;
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
      if (static_cast<std::size_t>(c.from) > last || static_cast<std::size_t>(c.to) > last) continue;
      const FloorRectangle &a = kernels_[static_cast<std::size_t>(c.from)].place,
                           &b = kernels_[static_cast<std::size_t>(c.to)].place;
      const Index down = 2 * (a.row - b.row) + a.height - b.height;
      const Index across = 2 * (a.column - b.column) + a.width - b.width;
      sum += c.weight * static_cast<double>((down < 0 ? -down : down) + (across < 0 ? -across : across)) / 2;
    }
    return sum;
  }

  const FloorRequest& request_;
  const FloorOptions& options_;
  Index left_;
  FloorPlan& best_;
  std::vector<FloorPlan::Kernel> kernels_;
  std::vector<double> least_time_;  // of this kernel and those behind it
};

}  // namespace

bool try_all(const FloorRequest& request, const FloorOptions& options, Index most, FloorPlan& best) {
  return AllPlaces(request, options, most, best).run();
}

}  // namespace wafer::inline v0
