// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/boxes.hpp"
#include "runtime/progress.hpp"
#include "runtime/run_state.hpp"
#include "runtime/shares.hpp"
#include "runtime/workers.hpp"

#include <wafer/runtime/executable_data.hpp>
#include <wafer/runtime/session.hpp>
#include <wafer/runtime/stop_request.hpp>
#include <wafer/runtime/trace.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace wafer::inline v0 {

/// What the workers of one step have done.
struct ExecutorStats {
  int workers = 0;        ///< that took part
  Index blocks = 0;       ///< that computed
  Index moved_bytes = 0;  ///< between arenas
};

/// Runs the steps of an executable on workers that claim tiles, in one order, from one counter.
///
/// A ticket is one tile of one action in one block and micro-batch; tickets are numbered in the order of the
/// plan. A worker takes the next one and waits until all tickets before the action that it depends on are
/// done: that is, until every other worker has published a later one. So a worker only ever waits for tickets
/// that running workers hold, and any number of workers finishes the step. One counter and one published
/// number for each worker are all that is shared.
///
/// Where an action's tiles cannot fail and run once a step, it makes no difference which of its tickets
/// stands for which of its tiles: workers then take those of their own share first (see Shares).
///
/// Where a ticket fails, those after it are given up, while those before it, which do not depend on it, still
/// run: one of them may fail too. So the earliest failure wins, whatever the workers' pace.
class Executor {
 public:
  Executor(const ExecutableData& data, RunState& state, int threads, const SessionOptions& options);
  ~Executor();

  /// Runs one step. Rethrows the failure of the earliest ticket, the one that a worker alone would have met,
  /// after all have stopped; throws RunError where `stop` was requested before variables may be written.
  /// Variables are unchanged in both cases.
  void run(std::size_t program, StopRequest stop);

  int threads() const { return workers_.threads(); }
  ExecutorStats stats() const;
  void clear_stats();
  /// Of the last step; empty unless asked for.
  std::vector<TraceEvent> trace() const;

  /// Called by each worker when it enters a step, before it claims anything. For tests.
  using EnterHook = void(void* data, int worker);
  void set_enter_hook(EnterHook* hook, void* data) {
    hook_ = hook;
    hook_data_ = data;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kIdle = std::numeric_limits<std::int64_t>::max();

  // What a worker shares, on cache lines of its own.
  struct alignas(128) Slot {
    Progress ticket{kIdle};
    std::atomic<Index> tiles{0}, moved_bytes{0};
  };

  // Tickets of one program, numbered within each region.
  struct Tickets {
    std::vector<std::int64_t> first;  // of each action, from its region's begin
    std::int64_t prologue = 0, body = 0, epilogue = 0;
    std::int64_t total = 0;
    std::int64_t fallible = 0;   // those before it may fail or be cancelled
    std::size_t first_call = 0;  // the first action's place among those of all programs
    // Of each action, where its tiles are taken by shares: its place among those of all programs; else -1.
    std::vector<std::int32_t> share;
    std::size_t first_share = 0, shares = 0;
  };

  struct Claim {
    std::uint32_t action = 0;
    Index micro_batch = 0;
    std::int64_t instance = 0;  // block of the action's own order
    std::uint32_t tile = 0;
  };

  struct Failure {
    std::int64_t ticket = kIdle;
    std::exception_ptr error;
  };

  // One tile, as a worker saw it.
  struct Note {
    Claim claim;
    Place place;
    Clock::time_point claimed, started, ended;
  };

  class Worker;

  Tickets number(const ProgramRecord& program) const;
  void share_out(const ProgramRecord& program, Tickets& tickets);
  std::int64_t most_tickets() const;
  Clock::time_point now() const { return tracing_ ? Clock::now() : Clock::time_point{}; }
  std::int64_t blocks_of(const ActionRecord& action) const {
    return action.kind == ActionKind::transfer && action.to_dram ? 1 : blocks_;
  }
  Place place_of(const ActionRecord& action, std::int64_t instance, Index micro_batch) const;
  std::int64_t instance_of(const ActionRecord& action, const Place& place) const;
  bool is_in_body(std::uint32_t action) const;
  std::int64_t region_begin(std::uint32_t action, Index micro_batch) const;
  std::int64_t end_of(std::int32_t action, Index micro_batch, const Place* place) const;
  std::int64_t must_follow(const Claim& claim, const Place& place) const;
  void fail(std::int64_t ticket) noexcept;
  static void enter(void* self, int worker);

  const ExecutableData& data_;
  RunState& state_;
  const std::int64_t blocks_;
  const bool tracing_;
  Workers workers_;
  std::vector<Tickets> tickets_;
  std::optional<Shares> shares_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> computed_;  // by block
  std::vector<std::unique_ptr<Worker>> worker_;
  // Of the step that runs.
  const ProgramRecord* program_ = nullptr;
  const Tickets* numbers_ = nullptr;
  std::vector<Index> axes_;     // the run-time extents of the step before
  std::uint64_t lendings_ = 0;  // and the state of what was lent to it
  std::uint64_t extents_ = 0;   // how often either has changed
  StopRequest stop_;
  Clock::time_point began_;
  EnterHook* hook_ = nullptr;
  void* hook_data_ = nullptr;
  alignas(128) std::atomic<std::int64_t> next_{0};
  // The earliest ticket that failed: none after it runs.
  alignas(128) std::atomic<std::int64_t> failed_{kIdle};
  std::atomic<std::int64_t> epoch_{0}, left_{0};
};

}  // namespace wafer::inline v0
