// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <thread>

namespace wafer::inline v0 {

namespace {

constexpr int kSpins = 2000;  // of a few nanoseconds each, before the CPU is offered to others

// Written by one worker alone.
void add_to(std::atomic<Index>& counter, Index more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

Box box_of(const Tile& tile) {
  Box box;
  box.rank = tile.rank;
  for (int d = 0; d < tile.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    box.range[i] = {tile.origin[i], tile.origin[i] + tile.extent[i]};
  }
  return box;
}

StridedBox memory_of(const Tile& tile) { return {static_cast<std::byte*>(tile.data), tile.stride}; }

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Executor::Worker::Worker(Executor& executor, int id)
    : executor_(executor),
      data_(executor.data_),
      slot_(executor.slots_[static_cast<std::size_t>(id)]),
      id_(id) {
  std::size_t factors = 0, operands = 0, most_tail_operands = 0;
  for (const ProgramRecord& program : data_.programs) {
    for (const ActionRecord& action : program.actions) {
      factors = std::max<std::size_t>(factors, action.factors);
      operands = std::max<std::size_t>(operands, action.inputs + action.results);
      std::size_t tail_operands = 0;
      for (std::uint32_t t = 0; t < action.tails; ++t) {
        const TailRecord& tail = data_.tails[action.first_tail + t];
        tail_operands += tail.inputs + tail.results;
      }
      most_tail_operands = std::max(most_tail_operands, tail_operands);
    }
  }
  ranges_.resize(factors);
  tiles_.resize(operands);
  tail_.tiles.resize(most_tail_operands);
  tail_.pieces.resize(most_tail_operands);
  if (executor.tracing_) notes_.reserve(static_cast<std::size_t>(executor.most_tickets()));
}

void Executor::Worker::run() {
  if (executor_.hook_) executor_.hook_(executor_.hook_data_, id_);
  const Tickets& numbers = *executor_.numbers_;
  cursor_lap_ = -1;
  notes_.clear();
  context_.seed = executor_.state_.seed;
  context_.step = executor_.state_.step;
  context_.target = data_.target;
  context_.axes = executor_.state_.axes;
  context_.scratch = executor_.state_.scratch.data() + id_ * data_.scratch_bytes;
  context_.scratch_bytes = data_.scratch_bytes;
  // Before the first claim, so that whoever claims a later ticket knows that this worker may hold an earlier
  // one.
  slot_.ticket.store(0, std::memory_order_relaxed);
  const bool alone = executor_.threads() == 1;  // then tickets run in their order
  for (;;) {
    const std::int64_t ticket = executor_.next_.fetch_add(1, std::memory_order_acq_rel);
    if (ticket >= numbers.total) break;
    slot_.ticket.store(ticket, std::memory_order_release);
    try {
      if (ticket < numbers.fallible && executor_.stop_.stop_requested())
        throw RunError("step '" + executor_.program_->name + "': cancelled by its stop token");
      const Claim claim = locate(ticket);
      const ActionRecord& action = executor_.program_->actions[claim.action];
      const Place place = executor_.place_of(action, claim.instance, claim.micro_batch);
      const Clock::time_point claimed = executor_.now();
      if (!alone && !wait_until_done(executor_.must_follow(claim, place), ticket)) break;
      const Clock::time_point started = executor_.now();
      execute(claim, place);
      if (executor_.tracing_) notes_.push_back({claim, place, claimed, started, executor_.now()});
    } catch (...) {
      failure_ = {ticket, std::current_exception()};
      executor_.fail(ticket);
      break;
    }
  }
  slot_.ticket.store(kIdle, std::memory_order_release);
}

// Tickets only grow, so the search goes on where the last one ended.
Executor::Claim Executor::Worker::locate(std::int64_t ticket) {
  Claim claim;
  const ProgramRecord& program = *executor_.program_;
  const Tickets& numbers = *executor_.numbers_;
  std::int64_t lap = 0, at = ticket;
  std::uint32_t begin = 0;
  if (ticket >= numbers.prologue) {
    at = ticket - numbers.prologue;
    const std::int64_t body = numbers.body * program.grid.micro_batches;
    if (at < body) {
      claim.micro_batch = at / numbers.body;
      lap = 1 + claim.micro_batch;
      at %= numbers.body;
      begin = program.region_end[0];
    } else {
      at -= body;
      lap = 1 + program.grid.micro_batches;
      begin = program.region_end[1];
      claim.micro_batch = program.grid.micro_batches - 1;
    }
  }
  if (lap != cursor_lap_) {
    cursor_lap_ = lap;
    cursor_ = begin;
  }
  const auto length = [&](std::uint32_t a) {
    return executor_.blocks_of(program.actions[a]) * program.actions[a].tiles;
  };
  while (at >= numbers.first[cursor_] + length(cursor_)) ++cursor_;
  at -= numbers.first[cursor_];
  claim.action = cursor_;
  claim.instance = at / program.actions[cursor_].tiles;
  claim.tile = static_cast<std::uint32_t>(at % program.actions[cursor_].tiles);
  return claim;
}

// False where an earlier ticket than the worker's own has failed. Whoever fails says so before its ticket
// counts as done.
bool Executor::Worker::wait_until_done(std::int64_t ticket, std::int64_t own) const {
  const auto given_up = [&] { return executor_.failed_.load(std::memory_order_acquire) < own; };
  for (int w = 0; w < executor_.threads(); ++w) {
    const std::atomic<std::int64_t>& other = executor_.slots_[static_cast<std::size_t>(w)].ticket;
    if (w == id_) continue;
    for (int spins = 0; other.load(std::memory_order_acquire) < ticket; ++spins) {
      if (given_up()) return false;
      if (spins < kSpins) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  return !given_up();
}

void Executor::Worker::count_moved(Index bytes) { add_to(slot_.moved_bytes, bytes); }

void Executor::Worker::execute(const Claim& claim, const Place& place) {
  const ActionRecord& action = executor_.program_->actions[claim.action];
  if (action.kind == ActionKind::compute) {
    compute(action, place, claim.tile);
    const Index block = place.block[0] * data_.parts[1] + place.block[1];
    executor_.computed_[static_cast<std::size_t>(block)].store(1, std::memory_order_relaxed);
  } else {
    transfer(action, place);
  }
  add_to(slot_.tiles, 1);
}

void Executor::Worker::compute(const ActionRecord& action, const Place& place, std::uint32_t tile) {
  const Grid& grid = executor_.program_->grid;
  Index left = tile;
  for (std::uint32_t f = 0; f < action.factors; ++f) {
    const FactorRecord& factor = data_.factors[action.first_factor + f];
    Range range = range_of(factor.division, grid, place, executor_.state_.axes);
    if (factor.tile > 0) {
      const Index begin = range.begin + (left % factor.tiles) * factor.tile;
      left /= factor.tiles;
      range = {std::min(begin, range.end), std::min(begin + factor.tile, range.end)};
    }
    ranges_[f] = range;
  }
  const bool linked = action.chain >= 0 && place.block[static_cast<std::size_t>(action.chain)] > 0;
  context_.accumulate = linked || (action.sums_batch && place.micro_batch > 0);
  for (std::uint32_t k = 0; k < action.inputs + action.results; ++k) {
    tile_of(data_.operands[action.first_operand + k], place, tiles_[k]);
  }
  if (action.chain >= 0 && context_.accumulate) receive_sums(action, place);
  const OpRecord& op = data_.ops[action.op];
  context_.where = data_.places[op.where];
  const bool by_pieces = action.tails > 0 && op.runs_tail && tiles_[action.inputs].size() > 0;
  if (action.tails > 0) start_tails(action, place);
  context_.tail = by_pieces ? &tail_.call : nullptr;
  op.run(op.op.get(), context_, Tiles(tiles_.data(), action.inputs),
         Tiles(tiles_.data() + action.inputs, action.results));
  context_.tail = nullptr;
  if (action.tails > 0 && !by_pieces) run_whole_tails();
}

// The operands of all tails, for the head's whole tile.
void Executor::Worker::start_tails(const ActionRecord& action, const Place& place) {
  tail_.action = &action;
  tail_.later_micro_batch = place.micro_batch > 0;
  const OperandRecord& result = data_.operands[action.first_operand + action.inputs];
  const int rank = data_.buffers[result.buffer].rank;
  const OperandDim* dims = data_.operand_dims.data() + result.first_dim;
  tail_.row_factor = dims[rank - 2].factor;
  tail_.col_factor = dims[rank - 1].factor;
  tail_.call.run = &Worker::run_tails;
  tail_.call.self = this;
  tail_.call.stream_count = 0;
  std::size_t at = 0;
  for (std::uint32_t t = 0; t < action.tails; ++t) {
    const TailRecord& tail = data_.tails[action.first_tail + t];
    for (std::uint32_t k = 0; k < tail.inputs + tail.results; ++k, ++at) {
      tile_of(data_.operands[tail.first_operand + k], place, tail_.tiles[at]);
      Tile& piece = tail_.pieces[at];
      const Tile& tile = tail_.tiles[at];
      piece.data = tile.data;
      piece.dtype = tile.dtype;
      piece.rank = tile.rank;
      std::copy_n(tile.extent.begin(), tile.rank, piece.extent.begin());
      std::copy_n(tile.stride.begin(), tile.rank, piece.stride.begin());
      std::copy_n(tile.origin.begin(), tile.rank, piece.origin.begin());
      std::copy_n(tile.shape.begin(), tile.rank, piece.shape.begin());
      if (k < tail.inputs) add_stream(tile, data_.operands[tail.first_operand + k]);
    }
  }
}

// An input that has an element for each one of the head's result, and is not made by the head or its tails.
void Executor::Worker::add_stream(const Tile& tile, const OperandRecord& operand) {
  Tail& call = tail_.call;
  const OperandDim* dims = data_.operand_dims.data() + operand.first_dim;
  const auto size = size_of(tile.dtype);
  if (tile.rank != 2 || dims[0].factor != tail_.row_factor || dims[1].factor != tail_.col_factor) return;
  const auto* const data = static_cast<const std::byte*>(tile.data);
  bool known = tile.data == tiles_[tail_.action->inputs].data || call.stream_count == Tail::kMaxStreams;
  for (std::size_t s = 0; s < call.stream_count; ++s) known = known || call.streams[s].data == data;
  if (!known) call.streams[call.stream_count++] = {data, tile.stride[0] * size, tile.stride[1] * size};
}

// All tails in turn, on one piece of the head's tile.
void Executor::Worker::run_tails(void* self, Index row, Index rows, Index col, Index cols) {
  Worker& worker = *static_cast<Worker*>(self);
  const ExecutableData& data = worker.data_;
  TailState& state = worker.tail_;
  Context& context = worker.context_;
  const std::string_view where = context.where;
  const bool accumulate = context.accumulate;
  const Tail* const tail_of_head = std::exchange(context.tail, nullptr);
  std::size_t at = 0;
  for (std::uint32_t t = 0; t < state.action->tails; ++t) {
    const TailRecord& tail = data.tails[state.action->first_tail + t];
    const std::size_t first = at;
    for (std::uint32_t k = 0; k < tail.inputs + tail.results; ++k, ++at) {
      const Tile& tile = state.tiles[at];
      Tile& piece = state.pieces[at];
      const OperandDim* dims = data.operand_dims.data() + data.operands[tail.first_operand + k].first_dim;
      Index offset = 0;
      for (int d = 0; d < tile.rank; ++d) {
        const auto i = static_cast<std::size_t>(d);
        const bool is_row = dims[d].factor == state.row_factor && dims[d].factor >= 0;
        if (!is_row && (dims[d].factor != state.col_factor || dims[d].factor < 0)) continue;
        const Index begin = is_row ? row : col;
        piece.origin[i] = tile.origin[i] + begin;
        piece.extent[i] = is_row ? rows : cols;
        offset += begin * tile.stride[i];
      }
      piece.data = static_cast<std::byte*>(tile.data) + offset * size_of(tile.dtype);
    }
    const OpRecord& op = data.ops[tail.op];
    context.where = data.places[op.where];
    context.accumulate = (tail.sums && row > 0) || (tail.sums_batch && state.later_micro_batch);
    op.run(op.op.get(), context, Tiles(state.pieces.data() + first, tail.inputs),
           Tiles(state.pieces.data() + first + tail.inputs, tail.results));
  }
  context.where = where;
  context.accumulate = accumulate;
  context.tail = tail_of_head;
}

// After a head that does not call for them, or whose tile is empty.
void Executor::Worker::run_whole_tails() {
  const Tile& tile = tiles_[tail_.action->inputs];
  const auto last = static_cast<std::size_t>(tile.rank - 1);
  run_tails(this, 0, tile.extent[last - 1], 0, tile.extent[last]);
}

// The piece of an operand that belongs to the current factor ranges.
// (Only the dimensions that there are: a tile has room for many, and is filled for each operand of each
// call.)
void Executor::Worker::tile_of(const OperandRecord& operand, const Place& place, Tile& tile) const {
  const BufferRecord& buffer = data_.buffers[operand.buffer];
  const Grid& grid = executor_.program_->grid;
  const std::vector<Index>& axes = executor_.state_.axes;
  tile.dtype = buffer.dtype;
  tile.rank = buffer.rank;
  Index offset = 0;
  bool empty = false;
  for (int d = 0; d < buffer.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const BufferDim& dim = data_.dims[buffer.first_dim + i];
    const OperandDim& of = data_.operand_dims[operand.first_dim + i];
    const Range outer = of.factor < 0 ? Range{0, 1} : ranges_[static_cast<std::size_t>(of.factor)];
    const Range range{outer.begin * of.inner, outer.end * of.inner};
    const Division& division = dim.division;
    const Index greatest = division.extent;
    tile.extent[i] = range.size();
    tile.origin[i] = range.begin;
    tile.stride[i] = dim.stride;
    tile.shape[i] = division.axis < 0
                        ? greatest
                        : std::min(greatest, axes[static_cast<std::size_t>(division.axis)] * division.per);
    if (division.direction < 0 && !division.micro) {
      offset += range.begin * dim.stride;  // held from its first index
    } else {
      offset += (range.begin - range_of(division, grid, place, axes).begin) * dim.stride;
    }
    empty = empty || range.size() <= 0;
  }
  std::byte* const base = executor_.arena_of(buffer.space, place) + buffer.offset;
  tile.data = base + (empty ? 0 : offset * size_of(buffer.dtype));
}

// Takes over what the block before in the chain has summed so far (the last one, from the micro-batch
// before).
void Executor::Worker::receive_sums(const ActionRecord& action, const Place& place) {
  const auto dir = static_cast<std::size_t>(action.chain);
  Place before = place;
  before.block[dir] = place.block[dir] > 0 ? place.block[dir] - 1 : data_.parts[dir] - 1;
  for (std::uint32_t r = 0; r < action.results; ++r) {
    const OperandRecord& operand = data_.operands[action.first_operand + action.inputs + r];
    Tile from, to;
    tile_of(operand, before, from);
    tile_of(operand, place, to);
    count_moved(copy_box(box_of(to), size_of(to.dtype), memory_of(from), memory_of(to)));
  }
}

void Executor::Worker::transfer(const ActionRecord& action, const Place& place) {
  const Grid& grid = executor_.program_->grid;
  const std::vector<Index>& axes = executor_.state_.axes;
  const BufferRecord &from = data_.buffers[action.from], &to = data_.buffers[action.to];
  const BufferView target(data_, action.to, grid, place, axes);
  // Along each direction: the positions whose pieces are needed.
  std::array<Range, kDirections> positions{};
  for (std::size_t dir = 0; dir < kDirections; ++dir) {
    const Index own = action.to_dram ? 0 : place.block[dir];
    positions[dir] = {own, own + 1};
    if (from.space == Space::dram) continue;
    if (action.chain == static_cast<std::int8_t>(dir))
      positions[dir] = {data_.parts[dir] - 1, data_.parts[dir]};
    for (int d = 0; d < from.rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      if (data_.dims[from.first_dim + i].division.direction != static_cast<std::int8_t>(dir)) continue;
      const bool same = data_.dims[to.first_dim + i].division.direction == static_cast<std::int8_t>(dir);
      if (!same) positions[dir] = {0, data_.parts[dir]};
    }
  }
  std::byte* const to_arena = executor_.arena_of(to.space, place);
  Place source = place;
  for (source.block[0] = positions[0].begin; source.block[0] < positions[0].end; ++source.block[0]) {
    for (source.block[1] = positions[1].begin; source.block[1] < positions[1].end; ++source.block[1]) {
      std::byte* const from_arena = executor_.arena_of(from.space, source);
      if (action.from == action.to && from_arena == to_arena) continue;  // the chain's last block has the sum
      const BufferView piece_view(data_, action.from, grid, source, axes);
      const Box box = intersection(piece_view.held(), target.held());
      const Index bytes =
          copy_box(box, target.element_size(), piece_view.at(box, from_arena), target.at(box, to_arena));
      if (from_arena != to_arena) count_moved(bytes);
    }
  }
}

}  // namespace wafer::inline v0
