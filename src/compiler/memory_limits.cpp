// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/memory_plan.hpp>

#include "core/step_name.hpp"

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kTensorsShown = 3;

Index need_of(const MemoryPlan& plan, Space space) {
  return space == Space::sram ? plan.sram_bytes : plan.dram_bytes;
}
Index limit_of(const MemoryLimits& limits, Space space) {
  return space == Space::sram ? limits.sram : limits.dram;
}
double over(const MemoryPlan& plan, const MemoryLimits& limits, Space space) {
  const Index limit = limit_of(limits, space);
  return limit == 0 ? 0 : static_cast<double>(need_of(plan, space)) / static_cast<double>(limit);
}

// When the buffers of one space take most, and which they are.
class FullestMoment {
 public:
  FullestMoment(const Step& step, const Partition& partition, const Communication& communication,
                const StepSchedule& schedule, const MemoryPlan& plan, Space space)
      : step_(step),
        partition_(partition),
        communication_(communication),
        schedule_(schedule),
        plan_(plan),
        space_(space) {
    for (std::size_t i = 0; i < step.programs.size(); ++i) find(i);
  }

  std::string text() const {
    std::vector<BufferId> living;
    for (BufferId b = 0; b < plan_.slots.size(); ++b) {
      const bool here = communication_.buffers[b].program == program_ && begin_of(b) <= action_ &&
                        action_ <= plan_.slots[b].last;
      if (counts(b) && (here || is_persistent(b))) living.push_back(b);
    }
    const std::size_t shown = std::min(kTensorsShown, living.size());
    std::partial_sort(living.begin(), living.begin() + static_cast<std::ptrdiff_t>(shown), living.end(),
                      [&](BufferId a, BufferId b) {
                        const Index of_a = plan_.slots[a].bytes, of_b = plan_.slots[b].bytes;
                        return of_a != of_b ? of_a > of_b : a < b;
                      });
    std::string out = "fullest at " + moment() + " with ";
    for (std::size_t k = 0; k < shown; ++k) {
      const Value& value = step_.graph->values[communication_.buffers[living[k]].value];
      out += (k > 0 ? ", " : "") + text_of(value.type) + " of " + step_.graph->where(value.node) +
             piece_of(living[k]) + " " + std::to_string(plan_.slots[living[k]].bytes) + " bytes";
    }
    if (living.size() > shown) out += ", and " + std::to_string(living.size() - shown) + " more";
    return out;
  }

 private:
  // " (its piece [16, 32] in each block)", or nothing where the buffer holds all of the value.
  std::string piece_of(BufferId b) const {
    const Grid grid = grid_of(step_, partition_, communication_, b);
    bool cut = false, micro = false;
    std::string extents;
    for (const Division& d : divisions_of(step_, partition_, communication_, b)) {
      cut = cut || (d.direction >= 0 && grid.parts[static_cast<std::size_t>(d.direction)] > 1);
      micro = micro || (d.micro && grid.micro_batches > 1);
      extents += (extents.empty() ? "" : ", ") + std::to_string(local_extent(d, grid));
    }
    if (!cut && !micro) return "";
    return " (its piece [" + extents + "] in each " +
           (cut && micro ? "block and micro-batch"
            : cut        ? "block"
                         : "micro-batch") +
           ")";
  }
  bool counts(BufferId b) const {
    return communication_.buffers[b].space == space_ && (is_persistent(b) || !plan_.slots[b].unused);
  }
  bool is_persistent(BufferId b) const { return communication_.buffers[b].program == kNone; }
  // A result in place begins when the input whose memory it takes has ended.
  std::int32_t begin_of(BufferId b) const { return plan_.slots[b].first + (plan_.slots[b].in_place ? 1 : 0); }

  void find(std::size_t program) {
    std::vector<Index> change(schedule_.programs[program].actions.size() + 2);
    for (BufferId b = 0; b < plan_.slots.size(); ++b) {
      if (communication_.buffers[b].program != program || !counts(b)) continue;
      change[static_cast<std::size_t>(begin_of(b))] += plan_.slots[b].bytes;
      change[static_cast<std::size_t>(plan_.slots[b].last) + 1] -= plan_.slots[b].bytes;
    }
    Index bytes = 0;
    for (std::size_t a = 0; a + 1 < change.size(); ++a) {
      bytes += change[a];
      if (bytes <= most_) continue;
      most_ = bytes;
      program_ = static_cast<std::uint32_t>(program);
      action_ = static_cast<std::int32_t>(a);
    }
  }

  std::string moment() const {
    const std::string in_step = step_text(step_.programs[program_].name);
    const std::vector<ScheduledAction>& actions = schedule_.programs[program_].actions;
    if (static_cast<std::size_t>(action_) >= actions.size()) return in_step;
    const ScheduledAction& action = actions[static_cast<std::size_t>(action_)];
    if (action.kind == ActionKind::transfer) return "a transfer of " + in_step;
    return step_.graph->where(step_.programs[program_].order[action.index]) + " of " + in_step;
  }

  const Step& step_;
  const Partition& partition_;
  const Communication& communication_;
  const StepSchedule& schedule_;
  const MemoryPlan& plan_;
  Space space_;
  Index most_ = -1;
  std::uint32_t program_ = 0;
  std::int32_t action_ = 0;
};

}  // namespace

bool MemoryPlan::fits(const MemoryLimits& limits) const {
  return (limits.sram == 0 || sram_bytes <= limits.sram) && (limits.dram == 0 || dram_bytes <= limits.dram);
}

double MemoryPlan::over(const MemoryLimits& limits) const {
  return std::max(wafer::over(*this, limits, Space::sram), wafer::over(*this, limits, Space::dram));
}

std::string MemoryPlan::shortage(const Step& step, const Partition& partition,
                                 const Communication& communication, const StepSchedule& schedule,
                                 const MemoryLimits& limits) const {
  const bool sram = wafer::over(*this, limits, Space::sram) >= wafer::over(*this, limits, Space::dram);
  const Space space = sram ? Space::sram : Space::dram;
  return "expected at most " + std::to_string(limit_of(limits, space)) + " bytes of " +
         (sram ? "SRAM in each block" : "DRAM") + ", got " + std::to_string(need_of(*this, space)) + "; " +
         FullestMoment(step, partition, communication, schedule, *this, space).text();
}

}  // namespace wafer::inline v0
