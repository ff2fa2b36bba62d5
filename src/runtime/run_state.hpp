// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/arena.hpp"

#include <wafer/runtime/executable_data.hpp>

#include <cstdint>
#include <vector>

namespace wafer::inline v0 {

/// Memory of a session, and the numbers that kernels see.
struct RunState {
  std::vector<Arena> blocks;  // one for each block of a mesh
  Arena dram;
  Arena scratch;
  std::vector<Index> axes;  // run-time extents
  // By buffer: memory of the caller's that stands for it in this step; null for planned memory.
  std::vector<std::byte*> lent;
  std::uint64_t lendings = 0;  // how often these have changed
  std::uint64_t seed = 0;
  Index step = 0;
};

/// Where the arena's offsets count from.
inline std::byte* arena_of(RunState& state, const ExecutableData& data, Space space, const Place& place) {
  if (space == Space::dram) return state.dram.data();
  return state.blocks[static_cast<std::size_t>(place.block[0] * data.parts[1] + place.block[1])].data();
}

}  // namespace wafer::inline v0
