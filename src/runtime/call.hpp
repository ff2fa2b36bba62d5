// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/run_state.hpp"

#include <wafer/core/tile.hpp>
#include <wafer/runtime/executable_data.hpp>

#include <cstdint>
#include <vector>

namespace wafer::inline v0 {

/// Where and with what an action is resolved to memory.
struct CallPlace {
  const ExecutableData& data;
  const Grid& grid;
  const Place& place;
  RunState& state;
  std::byte* tile_memory;  ///< the worker's, for buffers in Space::tile
};

struct CallSizes {
  std::size_t factors = 0;
  std::size_t operands = 0;  ///< of the op and of its tails
};
CallSizes sizes_of(const ExecutableData& data, const ActionRecord& action);

/// One tile of an action: the op's operands and those of its tails as memory. Its buffers are sized once.
struct Call {
  const ActionRecord* action = nullptr;
  std::vector<Tile> tiles;  ///< operands of the op, then of each tail, all for the op's tile
  /// The run-time extents and lendings that it was resolved for; 0: it is not kept.
  std::uint64_t extents = 0;

  void reserve(const CallSizes& sizes);
  void resolve(const CallPlace& at, const ActionRecord& action, std::uint32_t tile);
  /// The piece of an operand that belongs to the ranges of the factors that were resolved last.
  void tile_of(const CallPlace& at, const OperandRecord& operand, Tile& tile) const;
  /// Runs the op, and its tails on piece after piece. `context.accumulate` is for the op.
  void run(const ExecutableData& data, Context& context);

 private:
  struct Run;  // what the tails need while the op runs

  void resolve_tails(const CallPlace& at);
  void add_stream(const ExecutableData& data, const Tile& tile, const OperandRecord& operand);
  void run_tails(Run& run, Index row, Index rows, Index col, Index cols);
  void cut_pieces(const ExecutableData& data, Index row, Index rows, Index col, Index cols);

  const OpRecord* op_ = nullptr;  // the action's, and where it is
  std::string_view where_;
  std::vector<Range> ranges_;                       // of the action's factors
  std::vector<Tile> pieces_;                        // of the tails' operands: of the last piece cut
  std::int32_t row_factor_ = -1, col_factor_ = -1;  // of the result's last two dimensions
  bool later_micro_batch_ = false;
  Tail tail_;
};

}  // namespace wafer::inline v0
