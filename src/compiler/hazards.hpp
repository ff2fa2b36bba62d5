// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/runtime/executable_data.hpp>

#include <vector>

namespace wafer::inline v0 {

/// One range of memory that an action touches.
struct Access {
  Space space = Space::dram;
  Index begin = 0, end = 0;  // bytes of the arena
  bool write = false;
  bool all = false;  // in arenas of other blocks too
};

/// What each action of a program must wait for: the latest one before it that touches the same bytes, where
/// one of the two writes. `accesses` has the ranges of each action; the body [begin, end) repeats where
/// `loops`; actions from `fallible_end` on, which may write
/// variables, wait for everything before it.
std::vector<Waits> find_waits(const std::vector<std::vector<Access>>& accesses, std::uint32_t body_begin,
                              std::uint32_t body_end, std::uint32_t fallible_end, bool loops);

}  // namespace wafer::inline v0
