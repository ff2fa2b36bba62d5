// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/partition.hpp>
#include <wafer/runtime/executable_data.hpp>

#include <string>
#include <vector>

namespace wafer::inline v0 {

using BufferId = std::uint32_t;

/// Planned memory of one value in one layout: the same in every block of the group.
struct Buffer {
  enum class Use : std::uint8_t { temporary, variable, constant, feed, fetch };
  ValueId value = kNone;
  ValueCut cut = kWhole;  ///< which dimension is held in pieces along each direction
  bool micro = false;     ///< holds one micro-batch of the batch axis at a time
  Space space = Space::sram;
  Use use = Use::temporary;
  std::uint32_t program = kNone;  ///< the step it belongs to; kNone: persistent
};

enum class TransferKind : std::uint8_t { send, broadcast, reduce, all_reduce, all_gather, copy };
inline constexpr int kTransferKinds = 6;
std::string_view name_of(TransferKind kind);

/// Data that moves between arenas (or is copied within one). Each receiving block takes the pieces it misses
/// from the blocks that hold them; a sum that was passed on along a chain lies in the chain's last block.
struct Transfer {
  TransferKind kind = TransferKind::send;
  BufferId from = 0, to = 0;
  std::int8_t chain = -1;  ///< the direction whose last block holds the result; -1: every block holds its own
  Region region = Region::body;
  std::uint32_t before = kNone;  ///< runs before this op of the program's order; kNone: at the region's end
};

struct ProgramCommunication {
  std::vector<BufferId> operands;            ///< of each op: its inputs, then its results
  std::vector<std::uint32_t> first_operand;  ///< of each op, and the end
  std::vector<Transfer> transfers;
  std::vector<BufferId> feeds;  ///< aligned with Communication::feed_values of the program
  std::vector<ValueId> feed_values;
  std::vector<BufferId> fetches;  ///< aligned with Program::fetches
};

/// Which buffers there are, and what moves between them.
struct Communication {
  std::vector<Buffer> buffers;
  std::vector<ProgramCommunication> programs;
  Index micro_batches = 1;

  /// Micro-batches of one program: 1 where it rules them out or has no batch.
  Index micro_batches_of(const Program& program) const {
    return program.batch_axis >= 0 && program.whole_batch == kNone ? micro_batches : 1;
  }
  /// Throws InternalError where an op would read a range that its block does not hold, or a sum before it is
  /// complete.
  void verify(const Step& step, const StepFactors& factors, const Partition& partition) const;
  std::string dump(const Step& step) const;
};

Communication communicate(const Step& step, const StepFactors& factors, const Partition& partition,
                          const Fabric& fabric);

}  // namespace wafer::inline v0
