// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/axis.hpp>
#include <wafer/core/init.hpp>
#include <wafer/core/range.hpp>
#include <wafer/graph/op.hpp>

#include <array>
#include <memory>
#include <string>
#include <vector>

// What `emit` writes and a session reads: flat tables of records that refer to each other by index. Not for
// users.
namespace wafer::inline v0 {

/// Kinds of memory: the arena of each block, and the one outside; and what a worker has for a tile. On a host
/// there is no SRAM.
enum class Space : std::uint8_t { sram, dram, tile };

/// One dimension of a buffer: which part of it the buffer holds, and how far apart its elements lie.
struct BufferDim {
  Division division;
  Stride stride;
};

struct BufferRecord {
  Space space = Space::dram;
  DType dtype = DType::f32;
  std::int32_t rank = 0;
  std::uint32_t first_dim = 0;  ///< in ExecutableData::dims
  Index offset = 0;             ///< of the arena, in bytes
  Index bytes = 0;
};

/// A factor of an op: the part of it that a block computes, in tiles.
struct FactorRecord {
  Division division;
  Index tile = 0;  ///< length of a tile; 0 where it is not tiled
  Index tiles = 1;
};

/// One dimension of an operand: its outermost factor, and the product of the inner ones.
struct OperandDim {
  std::int32_t factor = -1;  ///< of the action; -1: broadcast, extent 1
  Index inner = 1;
};

struct OperandRecord {
  std::uint32_t buffer = 0;
  std::uint32_t first_dim = 0;  ///< in ExecutableData::operand_dims, as many as the buffer's rank
};

enum class ActionKind : std::uint8_t { compute, transfer };

/// The latest actions that must be complete before one starts, as indices of the program's actions, -1 for
/// none: in the same block, and in all blocks; earlier in this pass over the body, and in the pass before.
struct Waits {
  std::int32_t own = -1, all = -1;
  std::int32_t own_before = -1, all_before = -1;
};

struct ActionRecord {
  ActionKind kind = ActionKind::compute;
  std::int8_t chain =
      -1;  ///< compute: direction along which a sum is passed on; transfer: whose last block holds it
  bool sums_batch = false;  ///< compute: continues its sums from micro-batch to micro-batch
  bool any_order = false;   ///< compute: tiles cannot fail, so that their order makes no difference
  bool to_dram = false;     ///< transfer: one receiver instead of one for each block
  bool in_place_chain =
      false;  ///< transfer: the sum goes from the chain's last block to the same buffer of the others
  std::uint32_t op = 0;  ///< compute: in ExecutableData::ops
  std::uint32_t first_factor = 0, factors = 0;
  std::uint32_t first_operand = 0, inputs = 0, results = 0;
  std::uint32_t from = 0, to = 0;           ///< transfer: buffers
  std::uint32_t first_tail = 0, tails = 0;  ///< compute: in ExecutableData::tails
  std::uint32_t where = 0;                  ///< compute: in ExecutableData::places, tails included
  std::uint32_t tiles = 1;                  ///< of one block
  double flops = 0, bytes = 0;  ///< compute: of all blocks and micro-batches together, by the cost model
  Waits waits;
};

struct OpRecord {
  OpHandle op;
  Kernel::Run* run = nullptr;
  bool runs_tail = false;
  std::uint32_t where = 0;  ///< in ExecutableData::places
  Index scratch_bytes = 0;  ///< that its kernel asks for, in whole alignments
};

/// An op that runs piece by piece after another. Its operands' factors are those of the head's action.
struct TailRecord {
  std::uint32_t op = 0;  ///< in ExecutableData::ops
  std::uint32_t first_operand = 0, inputs = 0, results = 0;
  bool sums = false;        ///< continues its sums from piece to piece
  bool sums_batch = false;  ///< and from micro-batch to micro-batch
};

struct FeedRecord {
  std::string name;
  std::uint32_t buffer = 0;
};

struct FetchRecord {
  std::string name;
  std::uint32_t buffer = 0;
};

struct VariableRecord {
  std::string path;
  std::uint32_t buffer = 0;
  Init init;
  bool trained = true;
};

struct ConstantRecord {
  std::uint32_t buffer = 0;
  std::vector<std::byte> bytes;
};

/// One named step: its actions in order, the body repeated for each micro-batch.
struct ProgramRecord {
  std::string name;
  std::vector<ActionRecord> actions;
  std::array<std::uint32_t, 4> region_end{};  ///< of prologue, body, epilogue, commit
  std::uint32_t fallible_end = 0;             ///< actions from it on cannot fail, and may write variables
  Grid grid;
  bool trains = false;           ///< it writes variables, so it counts as a step
  double predicted_seconds = 0;  ///< by the cost model
  std::vector<FeedRecord> feeds;
  std::vector<FetchRecord> fetches;
};

/// What the plan looks like, stage by stage; implemented by the compiler.
class PlanText {
 public:
  virtual ~PlanText();
  /// A page: blocks, bytes, messages, predicted time.
  virtual std::string summary() const = 0;
  /// One stage in full: "step", "partition", "placement", "tiling", "communication", "fusion", "schedule",
  /// "memory".
  /// Throws UserError for another name.
  virtual std::string dump(std::string_view stage) const = 0;
};

struct ExecutableData {
  std::vector<Axis> axes;
  std::vector<BufferRecord> buffers;
  std::vector<BufferDim> dims;
  std::vector<OpRecord> ops;
  std::vector<std::string> places;  ///< "op 'wafer.matmul' at 'fc1'"
  std::vector<TailRecord> tails;
  std::vector<FactorRecord> factors;
  std::vector<OperandRecord> operands;
  std::vector<OperandDim> operand_dims;
  std::vector<VariableRecord> variables;
  std::vector<ConstantRecord> constants;
  std::vector<ProgramRecord> programs;
  std::array<Index, kDirections> parts{1, 1};
  bool host = true;
  Index sram_bytes = 0;  ///< of each block's arena
  Index dram_bytes = 0;
  Index scratch_bytes = 0;  ///< of kernels, an op's and its tails', for each worker
  Index tile_bytes = 0;     ///< of buffers in Space::tile, for each worker
  KernelTarget target = KernelTarget::automatic;
  Index workers = 1;  ///< threads that the plan was made for
  std::shared_ptr<const PlanText> plan;

  Index blocks() const { return parts[0] * parts[1]; }
  Index worker_bytes() const { return scratch_bytes + tile_bytes; }
};

}  // namespace wafer::inline v0
