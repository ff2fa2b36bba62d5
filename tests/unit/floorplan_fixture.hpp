// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

#include <limits>
#include <utility>
#include <vector>

// What the tests of floor plans ask for.
namespace wafer_test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline wafer::FloorKernel kernel(std::vector<wafer::KernelShape> shapes, bool may_turn = true) {
  return {std::move(shapes), may_turn};
}

inline wafer::FloorRequest mesh(wafer::Index rows, wafer::Index columns,
                                std::vector<wafer::FloorKernel> kernels) {
  wafer::FloorRequest request;
  request.rows = rows;
  request.columns = columns;
  request.kernels = std::move(kernels);
  return request;
}

/// A plan that satisfies its verify().
inline wafer::FloorPlan planned(const wafer::FloorRequest& request) {
  wafer::FloorPlan plan = wafer::plan_floor(request);
  plan.verify(request);
  return plan;
}

}  // namespace wafer_test
