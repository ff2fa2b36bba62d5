// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/fusion.hpp>

#include <array>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// One entry of a step's order: an op with its tails, or a transfer.
struct ScheduledAction {
  ActionKind kind = ActionKind::compute;
  std::uint32_t index = 0;           ///< of the program's order, or of its transfers
  std::vector<std::uint32_t> tails;  ///< of the program's order

  /// The op and its tails.
  std::vector<std::uint32_t> ops() const;
};

/// The actions of one step. The body runs once for each micro-batch; every block of the group runs all
/// actions.
struct ProgramSchedule {
  std::vector<ScheduledAction> actions;
  std::array<std::uint32_t, kRegions> region_end{};
  Index micro_batches = 1;
  /// Actions before it may fail or be cancelled; those from it on may write variables.
  std::uint32_t fallible_end = 0;

  Region region_of(std::uint32_t action) const {
    std::size_t r = 0;
    while (action >= region_end[r]) ++r;
    return static_cast<Region>(r);
  }
};

struct StepSchedule {
  std::vector<ProgramSchedule> programs;

  /// Throws InternalError unless each op and transfer runs once, after what it reads, nothing that can fail
  /// comes once variables may be written, and nothing reads a variable's old value after that.
  void verify(const Step& step, const Communication& communication) const;
  std::string dump(const Step& step, const Communication& communication) const;
};

StepSchedule schedule_step(const Step& step, const Communication& communication, const Fusion& fusion);

}  // namespace wafer::inline v0
