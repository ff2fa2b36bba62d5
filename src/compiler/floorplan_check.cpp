// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_check.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr Index kLongestMesh = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostScore = 1e300;  // sums of the search stay numbers

bool is_measure(double value) { return value >= 0 && value < kInfinity; }

// The greatest score that a plan might have is a number.
void check_sums(const FloorRequest& request) {
  for (std::size_t k = 0; k < request.kernels.size(); ++k) {
    for (const KernelShape& shape : request.kernels[k].shapes) {
      if (shape.time <= kMostScore && shape.time * request.time_weight <= kMostScore) continue;
      throw UserError(floor_kernel_text(k) +
                      ": expected a time, and its weight times that, of at most 1e300, got time " +
                      std::to_string(shape.time));
    }
  }
  const auto longest = static_cast<double>(request.rows + request.columns);
  double length = 0;
  for (std::size_t c = 0; c < request.connections.size(); ++c) {
    length += request.connections[c].weight * longest;
    if (length <= kMostScore && length * request.length_weight <= kMostScore) continue;
    throw UserError("floor plan: connection " + std::to_string(c) +
                    ": expected lengths times weights that add up to at most 1e300, got weight " +
                    std::to_string(request.connections[c].weight));
  }
}

}  // namespace

void check_floor(const FloorRequest& request) {
  if (request.rows < 1 || request.columns < 1 || request.rows > kLongestMesh ||
      request.columns > kLongestMesh) {
    throw UserError("floor plan: expected a mesh of 1 to " + std::to_string(kLongestMesh) +
                    " rows and columns, got " + std::to_string(request.rows) + " x " +
                    std::to_string(request.columns));
  }
  if (!is_measure(request.time_weight) || !is_measure(request.length_weight) || !(request.most_time >= 0))
    throw UserError("floor plan: expected weights and a longest time of at least 0");
  if (request.memory_limit < 0) throw UserError("floor plan: the memory limit is negative");
  for (std::size_t k = 0; k < request.kernels.size(); ++k) {
    if (request.kernels[k].shapes.empty())
      throw UserError(floor_kernel_text(k) + ": expected at least one shape, got none");
    for (const KernelShape& shape : request.kernels[k].shapes) {
      if (shape.height < 1 || shape.width < 1 || shape.memory < 0 || !is_measure(shape.time)) {
        throw UserError(floor_kernel_text(k) +
                        ": expected a positive height and width, a finite time and a memory of at " +
                        "least 0, got " + std::to_string(shape.height) + " x " + std::to_string(shape.width) +
                        ", time " + std::to_string(shape.time) + ", memory " + std::to_string(shape.memory));
      }
    }
  }
  if (request.kernels.size() > kMostFloorKernels) {
    throw UserError("floor plan: expected at most " + std::to_string(kMostFloorKernels) + " kernels, got " +
                    std::to_string(request.kernels.size()));
  }
  const auto kernels = static_cast<std::int32_t>(request.kernels.size());
  for (std::size_t c = 0; c < request.connections.size(); ++c) {
    const FloorConnection& connection = request.connections[c];
    if (connection.from < 0 || connection.from >= kernels || connection.to < 0 || connection.to >= kernels ||
        !is_measure(connection.weight)) {
      throw UserError("floor plan: connection " + std::to_string(c) + " goes from kernel " +
                      std::to_string(connection.from) + " to " + std::to_string(connection.to) + " of " +
                      std::to_string(kernels) + " with weight " + std::to_string(connection.weight));
    }
  }
  for (std::size_t f = 0; f < request.faulty.size(); ++f) {
    const FloorRectangle& r = request.faulty[f];
    if (r.row < 0 || r.column < 0 || r.height < 1 || r.width < 1 || r.height > request.rows - r.row ||
        r.width > request.columns - r.column || r.row >= request.rows || r.column >= request.columns) {
      throw UserError("floor plan: faulty rectangle " + std::to_string(f) + " at row " +
                      std::to_string(r.row) + ", column " + std::to_string(r.column) + ", " +
                      std::to_string(r.height) + " x " + std::to_string(r.width) + ", is not on the mesh");
    }
  }
  check_sums(request);
}

}  // namespace wafer::inline v0
