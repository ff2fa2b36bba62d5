// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker.hpp"

#include "core/step_name.hpp"

#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

// Up to so many operands in a plan, the calls are kept: where steps are short, so that it counts.
constexpr std::size_t kKeptOperands = 512;

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

StridedBox memory_of(const Tile& tile) {
  StridedBox memory{static_cast<std::byte*>(tile.data), {}};
  for (int d = 0; d < tile.rank; ++d) memory.stride[static_cast<std::size_t>(d)] = tile.stride_of(d);
  return memory;
}

}  // namespace

Executor::Worker::Worker(Executor& executor, int id)
    : executor_(executor),
      data_(executor.data_),
      slot_(executor.slots_[static_cast<std::size_t>(id)]),
      id_(id) {
  CallSizes most;
  std::size_t operands = 0, actions = 0;
  for (const ProgramRecord& program : data_.programs) {
    actions += program.actions.size();
    for (const ActionRecord& action : program.actions) {
      const CallSizes sizes = sizes_of(data_, action);
      most = {std::max(most.factors, sizes.factors), std::max(most.operands, sizes.operands)};
      operands += sizes.operands;
    }
  }
  call_.reserve(most);
  if (data_.blocks() == 1 && operands <= kKeptOperands) {
    kept_.reserve(actions);
    for (const ProgramRecord& program : data_.programs) {
      for (const ActionRecord& action : program.actions)
        kept_.emplace_back().reserve(sizes_of(data_, action));
    }
  }
  if (executor.tracing_) notes_.reserve(static_cast<std::size_t>(executor.most_tickets()));
}

void Executor::Worker::run() {
  if (executor_.hook_) executor_.hook_(executor_.hook_data_, id_);
  cursor_lap_ = -1;
  notes_.clear();
  context_.seed = executor_.state_.seed;
  context_.step = executor_.state_.step;
  context_.target = data_.target;
  context_.axes = executor_.state_.axes;
  std::byte* const own = executor_.state_.scratch.data() + id_ * data_.worker_bytes();
  context_.scratch = own;
  tile_memory_ = own + data_.scratch_bytes;
  context_.scratch_bytes = data_.scratch_bytes;
  if (executor_.threads() == 1) return run_alone();
  // Before the first claim, so that whoever claims a later ticket knows that this worker may hold an earlier
  // one.
  slot_.ticket.publish(0);
  for (;;) {
    const std::int64_t ticket = executor_.next_.fetch_add(1, std::memory_order_acq_rel);
    if (ticket >= executor_.numbers_->total) break;
    slot_.ticket.publish(ticket);
    const Claim claim = locate(ticket);
    const Place place =
        executor_.place_of(executor_.program_->actions[claim.action], claim.instance, claim.micro_batch);
    if (!run_ticket(ticket, claim, place)) break;
  }
  slot_.ticket.publish(kIdle);
  // The caller's thread waits for the others here: oneTBB would yield.
  if (id_ == 0) static_cast<void>(wait_until_done(kIdle, -1));
}

// All tickets in their order: then nothing has to be looked up, and nobody looks.
void Executor::Worker::run_alone() {
  const ProgramRecord& program = *executor_.program_;
  std::int64_t ticket = 0;
  const auto run_actions = [&](std::uint32_t begin, std::uint32_t end, Index micro_batch) {
    for (std::uint32_t a = begin; a < end; ++a) {
      const ActionRecord& action = program.actions[a];
      const std::int64_t blocks = executor_.blocks_of(action);
      for (std::int64_t instance = 0; instance < blocks; ++instance) {
        const Place place = executor_.place_of(action, instance, micro_batch);
        for (std::uint32_t tile = 0; tile < action.tiles; ++tile) {
          if (!run_ticket(ticket++, {a, micro_batch, instance, tile}, place)) return false;
        }
      }
    }
    return true;
  };
  const auto& region_end = program.region_end;
  const Index micro_batches = program.grid.micro_batches;
  if (!run_actions(0, region_end[0], 0)) return;
  for (Index m = 0; m < micro_batches; ++m) {
    if (!run_actions(region_end[0], region_end[1], m)) return;
  }
  run_actions(region_end[1], region_end[3], micro_batches - 1);
}

// False where it, or an earlier one, has failed.
bool Executor::Worker::run_ticket(std::int64_t ticket, const Claim& claim, const Place& place) {
  try {
    if (ticket < executor_.numbers_->fallible && executor_.stop_.stop_requested())
      throw RunError(step_text(executor_.program_->name) + ": cancelled by its stop token");
    const Clock::time_point claimed = executor_.now();
    if (executor_.threads() > 1 && !wait_until_done(executor_.must_follow(claim, place), ticket))
      return false;
    const Clock::time_point started = executor_.now();
    execute(claim, place);
    if (executor_.tracing_) notes_.push_back({claim, place, claimed, started, executor_.now()});
    return true;
  } catch (...) {
    failure_ = {ticket, std::current_exception()};
    executor_.fail(ticket);
    return false;
  }
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
  const std::uint32_t tiles = program.actions[cursor_].tiles;
  claim.instance = at / tiles;
  const std::int32_t share = numbers.share[cursor_];
  claim.tile = share >= 0 ? executor_.shares_->take(static_cast<std::size_t>(share), tiles,
                                                    static_cast<std::uint32_t>(id_))
                          : static_cast<std::uint32_t>(at % tiles);
  return claim;
}

// False where an earlier ticket than the worker's own has failed. Whoever fails says so before its ticket
// counts as done.
bool Executor::Worker::wait_until_done(std::int64_t ticket, std::int64_t own) const {
  const auto given_up = [&] { return executor_.failed_.load(std::memory_order_acquire) < own; };
  for (int w = 0; w < executor_.threads(); ++w) {
    if (w != id_) executor_.slots_[static_cast<std::size_t>(w)].ticket.wait_for(ticket, given_up);
    if (given_up()) return false;
  }
  return true;
}

void Executor::Worker::count_moved(Index bytes) { add_to(slot_.moved_bytes, bytes); }

// (Inline, as the two below: a small action takes no longer than a few calls.)
inline void Executor::Worker::execute(const Claim& claim, const Place& place) {
  const ActionRecord& action = executor_.program_->actions[claim.action];
  if (action.kind == ActionKind::compute) {
    compute(claim.action, place, claim.tile);
    const Index block = place.block[0] * data_.parts[1] + place.block[1];
    executor_.computed_[static_cast<std::size_t>(block)].store(1, std::memory_order_relaxed);
  } else {
    transfer(action, place);
  }
  add_to(slot_.tiles, 1);
}

// The call of an action that is one tile of the only block differs from step to step in nothing but the
// run-time extents and the memory that is lent; so where it is kept, it is resolved when those change.
inline Call& Executor::Worker::call_of(std::uint32_t action_index, const Place& place, std::uint32_t tile) {
  const ActionRecord& action = executor_.program_->actions[action_index];
  Call& call = kept_.empty() ? call_ : kept_[executor_.numbers_->first_call + action_index];
  const bool kept = &call != &call_ && action.tiles == 1 && executor_.program_->grid.micro_batches == 1;
  if (kept && call.extents == executor_.extents_) return call;
  call.resolve({data_, executor_.program_->grid, place, executor_.state_, tile_memory_}, action, tile);
  call.extents = kept ? executor_.extents_ : 0;
  return call;
}

inline void Executor::Worker::compute(std::uint32_t action_index, const Place& place, std::uint32_t tile) {
  const ActionRecord& action = executor_.program_->actions[action_index];
  Call& call = call_of(action_index, place, tile);
  const bool linked = action.chain >= 0 && place.block[static_cast<std::size_t>(action.chain)] > 0;
  context_.accumulate = linked || (action.sums_batch && place.micro_batch > 0);
  if (action.chain >= 0 && context_.accumulate) receive_sums(call, place);
  call.run(data_, context_);
}

// Takes over what the block before in the chain has summed so far (the last one, from the micro-batch
// before).
void Executor::Worker::receive_sums(const Call& call, const Place& place) {
  const ActionRecord& action = *call.action;
  const auto dir = static_cast<std::size_t>(action.chain);
  Place before = place;
  before.block[dir] = place.block[dir] > 0 ? place.block[dir] - 1 : data_.parts[dir] - 1;
  for (std::uint32_t r = 0; r < action.results; ++r) {
    Tile from;
    call.tile_of({data_, executor_.program_->grid, before, executor_.state_, tile_memory_},
                 data_.operands[action.first_operand + action.inputs + r], from);
    const Tile& to = call.tiles[action.inputs + r];
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
  std::byte* const to_arena = arena_of(executor_.state_, data_, to.space, place);
  Place source = place;
  for (source.block[0] = positions[0].begin; source.block[0] < positions[0].end; ++source.block[0]) {
    for (source.block[1] = positions[1].begin; source.block[1] < positions[1].end; ++source.block[1]) {
      std::byte* const from_arena = arena_of(executor_.state_, data_, from.space, source);
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
