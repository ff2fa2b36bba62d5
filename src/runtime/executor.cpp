// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.hpp"

#include "core/float_environment.hpp"
#include "runtime/worker.hpp"

#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

Executor::Executor(const ExecutableData& data, RunState& state, int threads, const SessionOptions& options)
    : data_(data),
      state_(state),
      blocks_(data.blocks()),
      tracing_(options.trace),
      workers_(threads, options.pin, options.arena),
      slots_(std::make_unique<Slot[]>(static_cast<std::size_t>(threads))),
      computed_(std::make_unique<std::atomic<std::uint8_t>[]>(static_cast<std::size_t>(data.blocks()))) {
  std::size_t actions = 0, shares = 0;
  for (const ProgramRecord& program : data.programs) {
    tickets_.push_back(number(program));
    tickets_.back().first_call = actions;
    actions += program.actions.size();
    tickets_.back().first_share = shares;
    share_out(program, tickets_.back());
    shares += tickets_.back().shares;
  }
  shares_.emplace(shares, threads);
  for (int w = 0; w < threads; ++w) worker_.push_back(std::make_unique<Worker>(*this, w));
}

Executor::~Executor() = default;

Executor::Tickets Executor::number(const ProgramRecord& program) const {
  Tickets tickets;
  std::int64_t at = 0;
  constexpr std::size_t kRegionCount = 4;
  std::array<std::int64_t, kRegionCount> length{};
  std::size_t region = 0;
  for (std::uint32_t a = 0; a < program.actions.size(); ++a) {
    while (a >= program.region_end[region]) {
      length[region] = at;
      if (region < 2)
        at = 0;  // epilogue and commit share one numbering, so that one range of tickets ends the step
      ++region;
    }
    tickets.first.push_back(at);
    at += blocks_of(program.actions[a]) * program.actions[a].tiles;
  }
  for (; region < kRegionCount; ++region) {
    length[region] = at;
    if (region < 2) at = 0;
  }
  tickets.prologue = length[0];
  tickets.body = length[1];
  tickets.epilogue = length[3];
  tickets.total = tickets.prologue + tickets.body * program.grid.micro_batches + tickets.epilogue;
  tickets.fallible = tickets.total;
  if (program.fallible_end < program.actions.size()) {
    // It lies in the body only where that runs once.
    const bool in_body = program.fallible_end < program.region_end[1];
    tickets.fallible = tickets.first[program.fallible_end] +
                       (program.fallible_end < program.region_end[0] ? 0
                        : in_body                                    ? tickets.prologue
                                  : tickets.prologue + tickets.body * program.grid.micro_batches);
  }
  return tickets;
}

// Tickets of an action are alike where its tiles may run in any order, once a step: any of them is any tile.
void Executor::share_out(const ProgramRecord& program, Tickets& tickets) {
  tickets.share.assign(program.actions.size(), -1);
  if (threads() == 1 || data_.blocks() > 1 || program.grid.micro_batches > 1) return;
  for (std::size_t a = 0; a < program.actions.size(); ++a) {
    if (program.actions[a].any_order && program.actions[a].tiles > 1)
      tickets.share[a] = static_cast<std::int32_t>(tickets.first_share + tickets.shares++);
  }
}

std::int64_t Executor::most_tickets() const {
  std::int64_t most = 0;
  for (const Tickets& tickets : tickets_) most = std::max(most, tickets.total);
  return most;
}

Place Executor::place_of(const ActionRecord& action, std::int64_t instance, Index micro_batch) const {
  // A chain along columns visits all rows of a column before the next one, so that links follow each other.
  Place place;
  place.micro_batch = micro_batch;
  if (blocks_ == 1) return place;
  if (action.kind == ActionKind::compute && action.chain == 1) {
    place.block = {instance % data_.parts[0], instance / data_.parts[0]};
  } else {
    place.block = {instance / data_.parts[1], instance % data_.parts[1]};
  }
  return place;
}

std::int64_t Executor::instance_of(const ActionRecord& action, const Place& place) const {
  if (action.kind == ActionKind::compute && action.chain == 1)
    return place.block[1] * data_.parts[0] + place.block[0];
  return place.block[0] * data_.parts[1] + place.block[1];
}

bool Executor::is_in_body(std::uint32_t action) const {
  return action >= program_->region_end[0] && action < program_->region_end[1];
}

std::int64_t Executor::region_begin(std::uint32_t action, Index micro_batch) const {
  if (action < program_->region_end[0]) return 0;
  if (action < program_->region_end[1]) return numbers_->prologue + micro_batch * numbers_->body;
  return numbers_->prologue + program_->grid.micro_batches * numbers_->body;
}

// The ticket after the last one of an action: in one block, or in all.
std::int64_t Executor::end_of(std::int32_t index, Index micro_batch, const Place* place) const {
  if (index < 0) return 0;
  const auto a = static_cast<std::uint32_t>(index);
  const ActionRecord& action = program_->actions[a];
  const std::int64_t blocks = blocks_of(action);
  const std::int64_t instances = place && blocks > 1 ? instance_of(action, *place) + 1 : blocks;
  return region_begin(a, micro_batch) + numbers_->first[a] + instances * action.tiles;
}

std::int64_t Executor::must_follow(const Claim& claim, const Place& place) const {
  const ActionRecord& action = program_->actions[claim.action];
  const Waits& w = action.waits;
  // What comes before the body, or in it, was last run by the last micro-batch.
  const bool in_body = is_in_body(claim.action);
  const Index now = in_body ? claim.micro_batch : program_->grid.micro_batches - 1;
  std::int64_t end = std::max(end_of(w.own, now, &place), end_of(w.all, now, nullptr));
  if (in_body && now > 0) {
    end = std::max({end, end_of(w.own_before, now - 1, &place), end_of(w.all_before, now - 1, nullptr)});
  }
  if (action.kind == ActionKind::compute && action.chain >= 0) {
    // The link before in the chain: instances are numbered along it.
    const std::int64_t width = data_.parts[action.chain == 0 ? 1 : 0];
    const std::int64_t before = std::max<std::int64_t>(0, claim.instance - width + 1);
    const std::int64_t first = region_begin(claim.action, claim.micro_batch) + numbers_->first[claim.action];
    if (claim.instance >= width) end = std::max(end, first + before * action.tiles);
  }
  return end;
}

void Executor::fail(std::int64_t ticket) noexcept {
  std::int64_t earliest = failed_.load(std::memory_order_relaxed);
  while (ticket < earliest && !failed_.compare_exchange_weak(earliest, ticket, std::memory_order_acq_rel)) {
  }
}

void Executor::enter(void* self, int worker) {
  Executor& executor = *static_cast<Executor*>(self);
  // The caller's writes before the step are published by the epoch, since oneTBB's own order is invisible to
  // the thread sanitizer; likewise the workers' by `left_`.
  static_cast<void>(executor.epoch_.load(std::memory_order_acquire));
  const DefaultFloats floats;
  executor.worker_[static_cast<std::size_t>(worker)]->run();
  executor.left_.fetch_add(1, std::memory_order_acq_rel);
}

void Executor::run(std::size_t program, StopRequest stop) {
  program_ = &data_.programs[program];
  numbers_ = &tickets_[program];
  if (extents_ == 0 || axes_ != state_.axes || lendings_ != state_.lendings) {
    axes_ = state_.axes;
    lendings_ = state_.lendings;
    ++extents_;
  }
  stop_ = stop;
  shares_->reset(numbers_->first_share, numbers_->shares);
  next_.store(0, std::memory_order_relaxed);
  failed_.store(kIdle, std::memory_order_relaxed);
  left_.store(0, std::memory_order_relaxed);
  if (tracing_) began_ = Clock::now();
  epoch_.fetch_add(1, std::memory_order_release);
  workers_.run(&Executor::enter, this);
  static_cast<void>(left_.load(std::memory_order_acquire));
  stop_ = {};
  const std::int64_t failed = failed_.load(std::memory_order_acquire);
  if (failed == kIdle) return;
  std::exception_ptr earliest;
  for (const std::unique_ptr<Worker>& worker : worker_) {
    const Failure failure = worker->take_failure();
    if (failure.ticket == failed) earliest = failure.error;
  }
  std::rethrow_exception(earliest);
}

ExecutorStats Executor::stats() const {
  ExecutorStats stats;
  for (int w = 0; w < threads(); ++w) {
    const Slot& slot = slots_[static_cast<std::size_t>(w)];
    stats.workers += slot.tiles.load(std::memory_order_relaxed) > 0;
    stats.moved_bytes += slot.moved_bytes.load(std::memory_order_relaxed);
  }
  for (Index b = 0; b < data_.blocks(); ++b)
    stats.blocks += computed_[static_cast<std::size_t>(b)].load(std::memory_order_relaxed);
  return stats;
}

void Executor::clear_stats() {
  for (int w = 0; w < threads(); ++w) {
    slots_[static_cast<std::size_t>(w)].tiles.store(0, std::memory_order_relaxed);
    slots_[static_cast<std::size_t>(w)].moved_bytes.store(0, std::memory_order_relaxed);
  }
  for (Index b = 0; b < data_.blocks(); ++b)
    computed_[static_cast<std::size_t>(b)].store(0, std::memory_order_relaxed);
}

std::vector<TraceEvent> Executor::trace() const {
  std::vector<TraceEvent> out;
  const auto seconds = [&](Clock::time_point at) {
    return std::chrono::duration<double>(at - began_).count();
  };
  for (int w = 0; w < threads(); ++w) {
    for (const Note& note : worker_[static_cast<std::size_t>(w)]->notes()) {
      const ActionRecord& action = program_->actions[note.claim.action];
      const auto calls =
          static_cast<double>(blocks_of(action) * action.tiles *
                              (is_in_body(note.claim.action) ? program_->grid.micro_batches : 1));
      TraceEvent& event = out.emplace_back();
      event.what = action.kind == ActionKind::compute ? std::string_view(data_.places[action.where])
                                                      : std::string_view("transfer");
      event.action = note.claim.action;
      event.tile = note.claim.tile;
      event.block = note.place.block[0] * data_.parts[1] + note.place.block[1];
      event.micro_batch = note.claim.micro_batch;
      event.worker = w;
      event.claimed = seconds(note.claimed);
      event.started = seconds(note.started);
      event.ended = seconds(note.ended);
      event.flops = action.flops / calls;
      event.bytes = action.bytes / calls;
    }
  }
  std::sort(out.begin(), out.end(),
            [](const TraceEvent& a, const TraceEvent& b) { return a.ended < b.ended; });
  return out;
}

}  // namespace wafer::inline v0
