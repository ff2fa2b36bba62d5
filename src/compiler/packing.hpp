// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>
#include <vector>

namespace wafer::inline v0 {

/// Something that needs bytes for a while.
struct PackItem {
  std::int32_t first = 0, last = 0;  // both included
  Index bytes = 0;                   // a multiple of the alignment
  Index offset = 0;                  // the answer
};

/// Gives each item an offset so that items that live at one time are disjoint; returns the height. Largest
/// first, each into the tightest gap that it fits, for some thousands of items; in order of time for more.
Index pack(std::vector<PackItem>& items);

}  // namespace wafer::inline v0
