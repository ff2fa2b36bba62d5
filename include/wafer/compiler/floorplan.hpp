// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace wafer::inline v0 {

/// One way to run a kernel: cores that it takes, and how long it takes then.
struct KernelShape {
  Index height = 1, width = 1;  ///< cores
  double time = 0;              ///< of one pass, any unit
  Index memory = 0;             ///< of its fullest core, any unit
};

struct FloorKernel {
  std::vector<KernelShape> shapes{};  ///< to choose from, at least one
  bool may_turn = true;               ///< by 90 degrees: height and width swapped
};

/// Data that goes from one kernel to another; its length is the L1 distance of their centres.
struct FloorConnection {
  std::int32_t from = 0, to = 0;
  double weight = 1;
};

/// Cores of the mesh.
struct FloorRectangle {
  Index row = 0, column = 0, height = 0, width = 0;
  friend bool operator==(const FloorRectangle&, const FloorRectangle&) = default;
};

struct FloorRequest {
  Index rows = 0, columns = 0;  ///< of the mesh, at most 4096 each
  std::vector<FloorKernel> kernels{};
  std::vector<FloorConnection> connections{};
  std::vector<FloorRectangle> faulty{};  ///< cores that no kernel may use; a faulty row is one of height 1
  Index memory_limit = 0;                ///< of a core; 0: none
  double time_weight = 1, length_weight = 1;
  double most_time = std::numeric_limits<double>::infinity();  ///< no kernel may be slower
  /// Limit of the work: about how many combinations of shapes are looked at, 1 to 1.5 ns each. All of it is
  /// spent where there are connections, some 3 s by default.
  Index effort = 2'000'000'000;
};

/// Shapes and places of kernels.
struct FloorPlan {
  struct Kernel {
    std::int32_t shape = 0;  ///< index into the kernel's shapes
    bool turned = false;
    FloorRectangle place;
    friend bool operator==(const Kernel&, const Kernel&) = default;
  };
  std::vector<Kernel> kernels;
  double time = 0;         ///< of the slowest kernel
  double length = 0;       ///< sum of weight x L1 distance of centres, over connections
  double score = 0;        ///< time_weight x time + length_weight x length: lower is better
  double time_bound = 0;   ///< no plan is faster: kernels' areas do not fit then
  double utilisation = 0;  ///< share of the working cores that kernels take

  /// Throws InternalError where kernels overlap, leave the mesh or use faulty cores, a shape or a figure is
  /// wrong; UserError for a request that plan_floor() would not take. Looks at the cores one by one and knows
  /// nothing of how the plan was made.
  void verify(const FloorRequest& request) const;
};

inline constexpr std::size_t kMostFloorKernels = 4096;

/// Chooses a shape and a place for each kernel: the best score that it finds, the same on every machine.
/// Throws UserError for more than kMostFloorKernels, and where the request contradicts itself (a kernel
/// without shapes, sizes that are not positive, connections or faults that lead nowhere, weights or times
/// that are negative or not finite, or scores above 1e300), naming the kernel, connection or fault;
/// CompileError where a kernel has no shape that fits in the mesh, memory and time, where the kernels'
/// smallest areas together exceed the working cores, and where no legal plan was found.
FloorPlan plan_floor(const FloorRequest& request);

}  // namespace wafer::inline v0
