// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/layout.hpp>
#include <wafer/compiler/schedule.hpp>

#include <string>
#include <vector>

namespace wafer::inline v0 {

/// Bytes that a plan may use; 0: no limit.
struct MemoryLimits {
  Index sram = 0;  ///< of each block's arena
  Index dram = 0;
};

/// Offset and lifetime of each buffer of the communication plan. Buffers of different steps share memory;
/// those that outlive a step come first.
struct MemoryPlan {
  struct Slot {
    Index offset = 0;
    Index bytes = 0;
    std::int32_t first = 0, last = -1;  ///< actions of its step between which it lives, both included
    bool unused = false;                ///< no action touches it
    bool in_place = false;  ///< takes over the memory of an input that its op reads for the last time
    /// A worker has its own for the tile that it runs: then `bytes` is 0, and `offset` counts those of an
    /// action.
    bool in_tile = false;
  };
  std::vector<Slot> slots;
  Index sram_bytes = 0, dram_bytes = 0;

  bool fits(const MemoryLimits& limits) const;
  /// How many times the limit that it is furthest beyond; at most 1 where it fits.
  double over(const MemoryLimits& limits) const;
  /// "expected at most 256 bytes of SRAM in each block, got 1984; ...": of that limit, and the largest
  /// tensors of the fullest moment.
  std::string shortage(const Step& step, const Partition& partition, const Communication& communication,
                       const StepSchedule& schedule, const MemoryLimits& limits) const;

  /// Throws InternalError where two buffers that live at one time share a byte, or a tile's lives longer than
  /// its action; written without the planner's tables.
  void verify(const Step& step, const Communication& communication, const StepSchedule& schedule) const;
  std::string dump(const Step& step, const Communication& communication) const;
};

inline constexpr Index kBufferAlignment = 64;  // a cache line, and the widest vector

MemoryPlan plan_memory(const Step& step, const Partition& partition, const Communication& communication,
                       const StepSchedule& schedule, const Layout& layout);

/// How each dimension of a buffer is held.
std::vector<Division> divisions_of(const Step& step, const Partition& partition,
                                   const Communication& communication, BufferId buffer);
/// Where the elements of a buffer lie in each arena that holds it.
Storage storage_of(const Step& step, const Partition& partition, const Communication& communication,
                   const Layout& layout, BufferId buffer);
/// What divides the dimensions of a buffer: the group, and the micro-batches of its step.
Grid grid_of(const Step& step, const Partition& partition, const Communication& communication,
             BufferId buffer);

}  // namespace wafer::inline v0
