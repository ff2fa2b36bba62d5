// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/shape.hpp>

#include <cstdint>
#include <string_view>

namespace wafer::inline v0 {

/// What a worker did with one tile of the last step: `SessionOptions{.trace = true}`, then `session.trace()`.
/// Times are seconds since the step began.
struct TraceEvent {
  std::string_view what;     ///< "op 'wafer.matmul' at 'fc1'", or "transfer"
  std::uint32_t action = 0;  ///< its number in the plan's order of the step
  Index tile = 0;            ///< of the block's tiles of that action
  Index block = 0;           ///< row-major
  Index micro_batch = 0;
  int worker = 0;
  double claimed = 0;  ///< then it waited for what it depends on
  double started = 0;
  double ended = 0;
  double flops = 0;  ///< of this tile, by the cost model: a multiply-add is two
  double bytes = 0;  ///< read and written
};

}  // namespace wafer::inline v0
