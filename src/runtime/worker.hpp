// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/call.hpp"
#include "runtime/executor.hpp"

#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// One worker of an executor: claims tickets, waits for what they depend on, and runs them. Its buffers are
/// sized once.
class Executor::Worker {
 public:
  Worker(Executor& executor, int id);

  /// Takes part in the executor's current step until no ticket is left or one has failed.
  void run();
  /// What ended the last run early, if anything did. It is forgotten.
  Failure take_failure() { return std::exchange(failure_, {}); }

  /// What it did in the last step, where the executor traces.
  const std::vector<Note>& notes() const { return notes_; }

 private:
  void run_alone();
  bool run_ticket(std::int64_t ticket, const Claim& claim, const Place& place);
  Claim locate(std::int64_t ticket);
  bool wait_until_done(std::int64_t ticket, std::int64_t own) const;
  void execute(const Claim& claim, const Place& place);
  Call& call_of(std::uint32_t action, const Place& place, std::uint32_t tile);
  void compute(std::uint32_t action, const Place& place, std::uint32_t tile);
  void receive_sums(const Call& call, const Place& place);
  void transfer(const ActionRecord& action, const Place& place);
  void count_moved(Index bytes);

  Executor& executor_;
  const ExecutableData& data_;
  Slot& slot_;
  int id_;
  Failure failure_;
  std::uint32_t cursor_ = 0;      // action of the last claim
  std::int64_t cursor_lap_ = -1;  // and its region and micro-batch
  Call call_;
  std::vector<Call> kept_;  // of each action of all programs, or none
  Context context_;
  std::byte* tile_memory_ = nullptr;  // for buffers in Space::tile
  std::vector<Note> notes_;
};

}  // namespace wafer::inline v0
