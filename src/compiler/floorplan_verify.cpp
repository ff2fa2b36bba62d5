// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_check.hpp"

#include <wafer/compiler/floorplan.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <string>

namespace wafer::inline v0 {

namespace {

[[noreturn]] void wrong(const std::string& what) { throw InternalError("floor plan: " + what); }

std::string name_of(std::size_t kernel) { return "kernel " + std::to_string(kernel); }

// Of sums, whose terms may come in any order. Nothing is near to what is no number, or infinite.
bool near(double said, double right) {
  const double difference = said < right ? right - said : said - right;
  return difference <= 1e-9 * right;
}

bool may_use(const FloorRequest& request, const FloorKernel& kernel, const KernelShape& shape) {
  const bool fits = shape.height <= request.rows && shape.width <= request.columns;
  const bool fits_turned = shape.width <= request.rows && shape.height <= request.columns;
  return (fits || (fits_turned && kernel.may_turn)) && shape.time <= request.most_time &&
         (request.memory_limit == 0 || shape.memory <= request.memory_limit);
}

// The least time at which the smallest shapes of all kernels together take no more cores than work.
double least_time(const FloorRequest& request, Index working) {
  std::vector<double> times;
  for (const FloorKernel& kernel : request.kernels) {
    for (const KernelShape& shape : kernel.shapes) times.push_back(shape.time);
  }
  std::sort(times.begin(), times.end());
  const auto too_fast = [&](double time) {
    Index cores = 0;
    for (const FloorKernel& kernel : request.kernels) {
      Index least = working + 1;
      for (const KernelShape& shape : kernel.shapes) {
        if (shape.time <= time && may_use(request, kernel, shape))
          least = std::min(least, shape.height * shape.width);
      }
      cores += least;
    }
    return cores > working;
  };
  const auto found = std::partition_point(times.begin(), times.end(), too_fast);
  return found == times.end() ? 0 : *found;
}

}  // namespace

// Every core in turn: who is there?
void FloorPlan::verify(const FloorRequest& request) const {
  check_floor(request);
  constexpr std::int32_t kFree = -1, kFaulty = -2;
  if (kernels.size() != request.kernels.size()) {
    wrong("expected " + std::to_string(request.kernels.size()) + " kernels, got " +
          std::to_string(kernels.size()));
  }
  std::vector<std::int32_t> owner(static_cast<std::size_t>(request.rows * request.columns), kFree);
  const auto at = [&](Index row, Index column) -> std::int32_t& {
    return owner[static_cast<std::size_t>(row * request.columns + column)];
  };
  for (const FloorRectangle& fault : request.faulty) {
    for (Index r = fault.row; r < fault.row + fault.height; ++r) {
      for (Index c = fault.column; c < fault.column + fault.width; ++c) at(r, c) = kFaulty;
    }
  }
  double slowest = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Kernel& kernel = kernels[k];
    const std::vector<KernelShape>& shapes = request.kernels[k].shapes;
    if (kernel.shape < 0 || static_cast<std::size_t>(kernel.shape) >= shapes.size())
      wrong(name_of(k) + " has shape " + std::to_string(kernel.shape) + ", which does not exist");
    const KernelShape& shape = shapes[static_cast<std::size_t>(kernel.shape)];
    if (kernel.turned && !request.kernels[k].may_turn) wrong(name_of(k) + " is turned");
    const FloorRectangle& place = kernel.place;
    if (place.height != (kernel.turned ? shape.width : shape.height) ||
        place.width != (kernel.turned ? shape.height : shape.width)) {
      wrong(name_of(k) + " has not the extent of its shape");
    }
    if (request.memory_limit > 0 && shape.memory > request.memory_limit)
      wrong(name_of(k) + " needs more memory than a core has");
    if (shape.time > request.most_time) wrong(name_of(k) + " is slower than it may be");
    if (place.row < 0 || place.column < 0 || place.row > request.rows - place.height ||
        place.column > request.columns - place.width) {
      wrong(name_of(k) + " leaves the mesh");
    }
    for (Index r = place.row; r < place.row + place.height; ++r) {
      for (Index c = place.column; c < place.column + place.width; ++c) {
        if (at(r, c) != kFree) {
          wrong(name_of(k) + " at row " + std::to_string(r) + ", column " + std::to_string(c) + " meets " +
                (at(r, c) == kFaulty ? "a faulty core" : name_of(static_cast<std::size_t>(at(r, c)))));
        }
        at(r, c) = static_cast<std::int32_t>(k);
      }
    }
    slowest = std::max(slowest, shape.time);
  }
  double wire = 0;
  for (const FloorConnection& c : request.connections) {
    const auto centre = [&](std::int32_t k, bool down) {
      const FloorRectangle& p = kernels[static_cast<std::size_t>(k)].place;
      return down ? static_cast<double>(p.row) + static_cast<double>(p.height) / 2
                  : static_cast<double>(p.column) + static_cast<double>(p.width) / 2;
    };
    for (const bool down : {false, true}) {
      const double a = centre(c.from, down), b = centre(c.to, down);
      wire += c.weight * (a < b ? b - a : a - b);
    }
  }
  const auto taken = std::count_if(owner.begin(), owner.end(), [](std::int32_t o) { return o >= 0; });
  const auto working = std::count_if(owner.begin(), owner.end(), [](std::int32_t o) { return o != kFaulty; });
  const double share = working == 0 ? 0 : static_cast<double>(taken) / static_cast<double>(working);
  if (!(time == slowest)) wrong("the slowest kernel takes " + std::to_string(slowest));
  if (!near(length, wire)) wrong("the connections are " + std::to_string(wire) + " long");
  if (!near(score, request.time_weight * slowest + request.length_weight * wire)) wrong("the score is wrong");
  if (!near(utilisation, share)) wrong("kernels take a share of " + std::to_string(share));
  const double bound = least_time(request, working);
  if (!(time_bound == bound)) wrong("no plan is faster than " + std::to_string(bound));
}

}  // namespace wafer::inline v0
