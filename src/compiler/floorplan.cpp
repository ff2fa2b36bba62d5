// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/floorplan.hpp>

#include "compiler/floorplan_check.hpp"
#include "compiler/floorplan_search.hpp"
#include "compiler/floorplan_stretch.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kVectorGain = 4;  // points of curves that cost as much as one unit of effort in a table
constexpr std::size_t kMostInRows = 300, kMostRows = 12;
constexpr std::array<std::size_t, 4> kGroups{1, 2, 3, 5};
constexpr double kSlowestRows = 1.2;  // of the bound
constexpr std::array<double, 11> kSlower{1, 1.003, 1.01, 1.03, 1.1, 1.3, 1.6, 2, 2.5, 3.2, 4};
constexpr int kMostFailed = 3;  // shorter times that did not fit, one after the other
constexpr Index kStarts = 4;    // that are worth shortening
constexpr std::size_t kTinyKernels = 5;
constexpr Index kTinyMesh = 64, kEffortOfPlace = 20;

// "3" or "0.5", and no digits that say nothing.
std::string text_of(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

Index working_cores(const FloorRequest& request) {
  std::vector<char> works(static_cast<std::size_t>(request.rows * request.columns), 1);
  for (const FloorRectangle& fault : request.faulty) {
    for (Index r = fault.row; r < fault.row + fault.height; ++r) {
      const auto row = works.begin() + r * request.columns + fault.column;
      std::fill(row, row + fault.width, char{0});
    }
  }
  return std::count(works.begin(), works.end(), 1);
}

/// Cores that the kernels need when none may take longer than this; -1: some kernel cannot be so fast.
Index area_at(const FloorOptions& options, double time) {
  Index sum = 0;
  for (const std::vector<FloorOption>& of_kernel : options) {
    Index least = std::numeric_limits<Index>::max();
    for (const FloorOption& option : of_kernel) {
      if (option.time <= time) least = std::min(least, option.height * option.width);
    }
    if (least == std::numeric_limits<Index>::max()) return -1;
    sum += least;
  }
  return sum;
}

/// Why none of a kernel's shapes can be taken: the limits that no shape keeps, with the least that any needs,
/// or, where each is kept by some shape, all of them.
[[noreturn]] void refuse_kernel(std::size_t k, const FloorRequest& request) {
  const FloorKernel& kernel = request.kernels[k];
  const bool memory_counts = request.memory_limit > 0, time_counts = request.most_time < kInfinity;
  bool size = false;
  Index memory = std::numeric_limits<Index>::max();
  double time = kInfinity;
  for (const KernelShape& shape : kernel.shapes) {
    size = size || (shape.height <= request.rows && shape.width <= request.columns) ||
           (kernel.may_turn && shape.width <= request.rows && shape.height <= request.columns);
    memory = std::min(memory, shape.memory);
    time = std::min(time, shape.time);
  }
  const bool memory_fails = memory_counts && memory > request.memory_limit,
             time_fails = time > request.most_time;
  const bool alone = !size || memory_fails || time_fails;
  std::string limits;
  const auto add = [&](const std::string& limit) { limits += (limits.empty() ? "" : ", ") + limit; };
  if (!size || !alone) add(std::to_string(request.rows) + " x " + std::to_string(request.columns) + " cores");
  if (memory_fails || (!alone && memory_counts)) {
    add("the memory limit of " + std::to_string(request.memory_limit) +
        (alone ? " (the least is " + std::to_string(memory) + ")" : ""));
  }
  if (time_fails || (!alone && time_counts)) {
    add("the longest time of " + text_of(request.most_time) +
        (alone ? " (the fastest takes " + text_of(time) + ")" : ""));
  }
  const std::size_t shapes = kernel.shapes.size();
  throw CompileError(floor_kernel_text(k) + ": " +
                     (shapes == 1 ? "its one shape does not fit in "
                                  : "none of its " + std::to_string(shapes) + " shapes fits in ") +
                     limits + (alone ? "" : " at once"));
}

class Planner {
 public:
  explicit Planner(const FloorRequest& request)
      : request_(request), regions_(free_regions(request)), cores_(working_cores(request)) {
    best_.score = kInfinity;
    for (std::size_t k = 0; k < request.kernels.size(); ++k) {
      options_.push_back(floor_options(request.kernels[k], request));
      if (options_.back().empty()) refuse_kernel(k, request);
      for (const FloorOption& option : options_.back()) times_.push_back(option.time);
    }
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    close_order_ = order_ = floor_order(request);
  }

  FloorPlan run() {
    const std::size_t bound = bound_level();
    const bool tiny = options_.size() <= kTinyKernels && request_.rows * request_.columns <= kTinyMesh;
    if (!tiny || !try_all(request_, options_, request_.effort / kEffortOfPlace, best_)) plan_slices(bound);
    if (best_.kernels.size() != options_.size() && !options_.empty()) {
      throw CompileError("floor plan: no legal places were found for " + std::to_string(options_.size()) +
                         " kernels, which need at least " + std::to_string(area_at(options_, times_.back())) +
                         " of " + std::to_string(cores_) + " working cores");
    }
    best_.time_bound = times_[bound];
    best_.utilisation = utilisation();
    return std::move(best_);
  }

 private:
  void plan_slices(std::size_t bound) {
    std::size_t level = fastest_level(bound);
    if (level == times_.size()) return;
    level = reorder(bound, level);
    shorten(bound, level);
  }

  /// The least time at which the kernels' cores are not more than there are.
  std::size_t bound_level() const {
    const auto fits = [&](double time) {
      const Index area = area_at(options_, time);
      return area >= 0 && area <= cores_;
    };
    const auto found = std::partition_point(times_.begin(), times_.end(), [&](double t) { return !fits(t); });
    if (found == times_.end()) {
      throw CompileError("floor plan: the kernels need at least " +
                         std::to_string(area_at(options_, times_.back())) + " cores, " +
                         std::to_string(cores_) + " work");
    }
    return static_cast<std::size_t>(found - times_.begin());
  }

  /// By how many cores the best plan in the order at hand is too long.
  Index overflow_at(std::size_t level) {
    Index points = 0;
    if (!shapes_ || shapes_->time != times_[level]) shapes_.emplace(request_, options_, times_[level]);
    const Index over = slice_in_order(*shapes_, order_, regions_, nullptr, points);
    used_ += points / kVectorGain;
    return over;
  }

  /// The first time for which the order has a plan, at or behind `low`; as many as there are where none has.
  std::size_t fastest_level(std::size_t low) {
    std::size_t step = 1, high = low;
    while (overflow_at(high) > 0) {
      if (high + 1 == times_.size()) return times_.size();
      low = high + 1;
      high = std::min(high + step, times_.size() - 1);
      step *= 2;
    }
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (overflow_at(middle) > 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Changes the order a little, again and again, for a faster plan.
  std::size_t reorder(std::size_t bound, std::size_t level) {
    const std::size_t n = order_.size();
    if (n < 2) return level;
    FloorRandom random(1);
    const bool fast_only = request_.length_weight == 0 || request_.connections.empty();
    const Index most = request_.effort / 10 * (fast_only ? 6 : 1);
    std::vector<std::int32_t> best_order = order_;
    Index over = level > bound ? overflow_at(level - 1) : 0;
    while (used_ < most && level > bound) {
      const std::vector<std::int32_t> old = order_;
      for (std::int32_t moves = random.below(2); moves >= 0; --moves) {
        const auto from = order_.begin() + random.below(n);
        const std::int32_t kernel = *from;
        const auto far = std::min<std::size_t>(n - 1, 4);
        const Index to =
            std::clamp<Index>((from - order_.begin()) + random.below(2 * far + 1) - static_cast<Index>(far),
                              0, static_cast<Index>(n) - 1);
        order_.erase(from);
        order_.insert(order_.begin() + to, kernel);
      }
      const Index now = overflow_at(level - 1);
      if (now > over) {
        order_ = old;
        continue;
      }
      over = now;
      while (over == 0) {
        best_order = order_;
        if (--level == bound) break;
        over = overflow_at(level - 1);
      }
    }
    order_ = best_order;
    return level;
  }

  /// A plan to start from.
  struct Start {
    SlicingForest forest;
    double time, score;
  };

  void add_start(SlicingForest& forest, const FloorShapes& shapes) {
    forest.set_shapes(shapes);
    straighten(request_, forest, to_straighten_);
    FloorPlan plan;
    forest.place(plan.kernels);
    plan = floor_plan_of(request_, std::move(plan.kernels));
    starts_.push_back({forest, shapes.time, plan.score});
  }

  /// Plans in rows, of several numbers of rows and sizes of groups, each as fast as it can be, and slower.
  void start_in_rows(std::size_t bound) {
    if (regions_.size() != 1 || order_.size() > kMostInRows) return;
    const std::size_t most_rows = std::min(order_.size(), kMostRows);
    for (const std::size_t group : kGroups) {
      if (group > order_.size()) break;
      for (std::size_t rows = 1; rows <= most_rows; ++rows) {
        if (used_ + points_ / kVectorGain > request_.effort) return;
        const auto fits = [&](double time) {
          const FloorShapes shapes(request_, options_, time);
          return RowPlans(shapes, close_order_, regions_[0], group, rows, points_).least_height(rows) <=
                 regions_[0].height;
        };
        const auto limit = std::upper_bound(times_.begin(), times_.end(), kSlowestRows * times_[bound]);
        if (limit == times_.begin() || !fits(*std::prev(limit))) continue;
        const auto found = std::partition_point(times_.begin() + static_cast<std::ptrdiff_t>(bound), limit,
                                                [&](double time) { return !fits(time); });
        if (found == limit) continue;
        double least = kInfinity;
        for (const double factor : kSlower) {
          const double time = *std::prev(std::upper_bound(times_.begin(), times_.end(), *found * factor));
          const FloorShapes shapes(request_, options_, time);
          SlicingForest forest(request_, regions_);
          RowPlans(shapes, close_order_, regions_[0], group, rows, points_).build(rows, forest);
          add_start(forest, shapes);
          if (starts_.back().score > least) break;
          least = starts_.back().score;
        }
      }
    }
  }

  /// Shortens connections from the best starts.
  void shorten(std::size_t bound, std::size_t level) {
    {
      const FloorShapes shapes(request_, options_, times_[level]);
      SlicingForest forest(request_, regions_);
      slice_in_order(shapes, order_, regions_, &forest, points_);
      add_start(forest, shapes);
    }
    const bool connected = request_.length_weight > 0 && !request_.connections.empty();
    if (connected) start_in_rows(bound);
    used_ += points_ / kVectorGain;
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Start& a, const Start& b) { return a.score < b.score; });
    const auto same = [](const Start& a, const Start& b) { return a.score == b.score; };
    starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
    if (starts_.size() > kStarts) starts_.erase(starts_.begin() + kStarts, starts_.end());
    const Index effort = std::max<Index>(std::max<Index>(request_.effort, 0) - used_, 0) / kStarts;
    for (Start& start : starts_) {
      if (connected) {
        const FloorShapes shapes(request_, options_, start.time);
        start.forest.set_shapes(shapes);
        anneal_length(request_, start.forest, effort);
      }
      finish(start, connected ? effort / 8 : 0);
    }
  }

  /// The forest's plan, at the time it was made for and at somewhat shorter ones as long as it fits.
  void finish(const Start& start, Index effort) {
    auto level = std::lower_bound(times_.begin(), times_.end(), start.time) - times_.begin();
    for (int failed = 0; failed < kMostFailed && level >= 0; --level) {
      const FloorShapes shapes(request_, options_, times_[static_cast<std::size_t>(level)]);
      if (std::any_of(shapes.fronts.begin(), shapes.fronts.end(), [](const auto& f) { return f.empty(); }))
        return;
      SlicingForest forest = start.forest;
      forest.set_shapes(shapes);
      if (forest.overflow() > 0) {
        ++failed;
        continue;
      }
      FloorPlan plan;
      forest.place(plan.kernels);
      plan = floor_plan_of(request_, std::move(plan.kernels));
      if (failed == 0) settle(request_, shapes, effort, plan);
      if (plan.score < best_.score) best_ = std::move(plan);
      effort = 0;  // once
    }
  }

  double utilisation() const {
    Index taken = 0;
    for (const FloorPlan::Kernel& kernel : best_.kernels) taken += kernel.place.height * kernel.place.width;
    return cores_ == 0 ? 0 : static_cast<double>(taken) / static_cast<double>(cores_);
  }

  const FloorRequest& request_;
  std::vector<FloorRectangle> regions_;
  Index cores_;
  FloorOptions options_;
  std::vector<double> times_;
  std::vector<std::int32_t> order_, close_order_;  // for the fastest plan; for short connections
  std::optional<FloorShapes> shapes_;              // of the time looked at last
  Index used_ = 0, points_ = 0;
  Index to_straighten_ = request_.effort;  // beside the rest, of which it is little
  std::vector<Start> starts_;
  FloorPlan best_;
};

}  // namespace

FloorPlan floor_plan_of(const FloorRequest& request, std::vector<FloorPlan::Kernel> kernels) {
  FloorPlan plan;
  plan.kernels = std::move(kernels);
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const auto shape = static_cast<std::size_t>(plan.kernels[k].shape);
    plan.time = std::max(plan.time, request.kernels[k].shapes[shape].time);
  }
  plan.length = length_of(request, plan.kernels);
  plan.score = request.time_weight * plan.time + request.length_weight * plan.length;
  return plan;
}

FloorPlan plan_floor(const FloorRequest& request) {
  check_floor(request);
  if (request.kernels.empty()) return {};
  return Planner(request).run();
}

}  // namespace wafer::inline v0
