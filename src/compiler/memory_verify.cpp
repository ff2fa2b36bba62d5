// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/memory_plan.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

namespace {

// A buffer's life, in ticks: an input that is overwritten in place ends a tick before the result begins. An
// action of several ops, which run in turn on piece after piece, has some ticks for each of them; what is not
// overwritten in place lives through all.
constexpr std::int64_t kTicks = 2 * 256;
struct Life {
  std::int64_t first = -1, last = -1;
};

class Verifier {
 public:
  Verifier(const Step& step, const Communication& communication, const StepSchedule& schedule,
           const MemoryPlan& plan)
      : step_(step), graph_(*step.graph), communication_(communication), schedule_(schedule), plan_(plan) {}

  void check(std::size_t program) {
    lives_.assign(plan_.slots.size(), {});
    const ProgramSchedule& schedule = schedule_.programs[program];
    const ProgramCommunication& ops = communication_.programs[program];
    const std::int64_t end = kTicks * static_cast<std::int64_t>(schedule.actions.size());
    // Two passes over the body stand for all: what survives the first lives in the second.
    const int passes = schedule.micro_batches > 1 ? 2 : 1;
    for (int pass = 0; pass < passes; ++pass) {
      for (std::uint32_t a = 0; a < schedule.actions.size(); ++a)
        walk(schedule, ops, step_.programs[program].order, a);
    }
    for (BufferId b : ops.feeds) live(b, 0);
    for (BufferId b : ops.fetches) live(b, end);
    const auto body_begin = static_cast<std::int64_t>(schedule.region_end[0]) * kTicks;
    const auto body_end = static_cast<std::int64_t>(schedule.region_end[1]) * kTicks;
    for (BufferId b = 0; b < lives_.size(); ++b) {
      Life& life = lives_[b];
      if (life.first < 0) continue;
      if (communication_.buffers[b].program == kNone) life = {0, end};
      const bool in_body = life.first < body_end && life.last >= body_begin;
      if (passes == 2 && in_body && !communication_.buffers[b].micro) {
        life = {std::min(life.first, body_begin), std::max(life.last, body_end)};
      }
    }
    check_tiles();
    for (const Space space : {Space::sram, Space::dram}) sweep(space);
  }

 private:
  void live(BufferId b, std::int64_t time) {
    Life& life = lives_[b];
    life.first = life.first < 0 ? time : std::min(life.first, time);
    life.last = std::max(life.last, time);
  }

  void walk(const ProgramSchedule& schedule, const ProgramCommunication& communication,
            const std::vector<NodeId>& order, std::uint32_t a) {
    const std::int64_t begin = kTicks * static_cast<std::int64_t>(a) + 1;
    const ScheduledAction& action = schedule.actions[a];
    if (action.kind == ActionKind::transfer) {
      live(communication.transfers[action.index].from, begin);
      live(communication.transfers[action.index].to, begin);
      return;
    }
    const std::vector<std::uint32_t> ops = action.ops();
    if (2 * static_cast<std::int64_t>(ops.size()) >= kTicks)
      throw InternalError("memory plan: an action of more ops than can be checked");
    const auto time_of = [&](std::size_t n) { return begin + 2 * static_cast<std::int64_t>(n) + 1; };
    for (std::size_t n = 0; n < ops.size(); ++n) {
      const std::uint32_t first = communication.first_operand[ops[n]],
                          end = communication.first_operand[ops[n] + 1];
      const std::uint32_t results = first + graph_.nodes[order[ops[n]]].inputs;
      for (std::uint32_t k = first; k < end; ++k) {
        const BufferId b = communication.operands[k];
        const std::size_t over = overwritten_by(communication, order, ops, b);
        if (k >= results) {
          live(b, plan_.slots[b].in_place ? time_of(n) : begin);
        } else if (lives_[b].last < begin) {  // it was not written by this action
          live(b, begin);
        }
        live(b, over < ops.size() ? time_of(over) - 1 : time_of(ops.size()));
      }
    }
  }

  // The op of one action that writes its result over a buffer, piece by piece. None where another op of the
  // action reads it too: that one might come too late.
  std::size_t overwritten_by(const ProgramCommunication& communication, const std::vector<NodeId>& order,
                             const std::vector<std::uint32_t>& ops, BufferId b) const {
    std::size_t by = ops.size(), reads = 0;
    for (std::size_t n = 0; n < ops.size(); ++n) {
      const BufferId* operands = communication.operands.data() + communication.first_operand[ops[n]];
      const Node& node = graph_.nodes[order[ops[n]]];
      const auto read = std::count(operands, operands + node.inputs, b);
      reads += static_cast<std::size_t>(read);
      if (read == 0 || !node.op.model().alias) continue;
      for (const AliasPair& pair : node.op.alias(graph_.input_types(node))) {
        const BufferId result = operands[node.inputs + static_cast<std::uint32_t>(pair.result)];
        if (operands[pair.input] == b && overwrites(result, b)) by = n;
      }
    }
    return reads == 1 ? by : ops.size();
  }

  bool overwrites(BufferId result, BufferId b) const {
    const MemoryPlan::Slot &over = plan_.slots[result], &under = plan_.slots[b];
    return result != b && over.in_place && over.in_tile == under.in_tile && over.offset == under.offset &&
           over.bytes == under.bytes &&
           communication_.buffers[result].space == communication_.buffers[b].space;
  }

  void check_tiles() const {
    std::map<std::pair<std::int64_t, Index>, std::vector<BufferId>> places;  // in the memory of each action
    for (BufferId b = 0; b < lives_.size(); ++b) {
      const Life& life = lives_[b];
      const MemoryPlan::Slot& slot = plan_.slots[b];
      if (!slot.in_tile || life.first < 0) continue;
      const std::int64_t action = (life.first - 1) / kTicks;
      if (action != (life.last - 1) / kTicks || communication_.buffers[b].use != Buffer::Use::temporary)
        throw InternalError("memory plan: " + where(b) + " is kept in a tile beyond its action");
      std::vector<BufferId>& there = places[{action, slot.offset}];
      const bool taken = std::any_of(there.begin(), there.end(), [&](BufferId other) {
        return lives_[other].first <= life.last && life.first <= lives_[other].last;
      });
      if (slot.offset < 0 || taken)
        throw InternalError("memory plan: " + where(b) + " has the place of another in a tile");
      there.push_back(b);
    }
  }

  std::string where(BufferId b) const {
    return step_.graph->where(step_.graph->values[communication_.buffers[b].value].node);
  }

  void sweep(Space space) const {
    std::vector<std::tuple<std::int64_t, int, BufferId>> events;  // ends before begins at one time
    for (BufferId b = 0; b < lives_.size(); ++b) {
      if (lives_[b].first < 0 || communication_.buffers[b].space != space || plan_.slots[b].bytes == 0)
        continue;
      events.emplace_back(lives_[b].first, 1, b);
      events.emplace_back(lives_[b].last + 1, 0, b);
    }
    std::sort(events.begin(), events.end());
    const Index limit = space == Space::sram ? plan_.sram_bytes : plan_.dram_bytes;
    std::map<Index, BufferId> living;  // by offset
    for (const auto& [time, begins, b] : events) {
      const MemoryPlan::Slot& slot = plan_.slots[b];
      if (!begins) {
        living.erase(slot.offset);
        continue;
      }
      const auto next = living.lower_bound(slot.offset);
      const bool hits_next = next != living.end() && next->first < slot.offset + slot.bytes;
      const bool hits_previous = next != living.begin() && [&] {
        const auto previous = std::prev(next);
        return previous->first + plan_.slots[previous->second].bytes > slot.offset;
      }();
      if (hits_next || hits_previous || slot.offset % kBufferAlignment != 0 || slot.offset < 0 ||
          slot.offset + slot.bytes > limit) {
        throw InternalError("memory plan: " + where(b) +
                            " shares bytes with a buffer that lives at the same time, or leaves the arena");
      }
      living.emplace(slot.offset, b);
    }
  }

  const Step& step_;
  const GraphData& graph_;
  const Communication& communication_;
  const StepSchedule& schedule_;
  const MemoryPlan& plan_;
  std::vector<Life> lives_;
};

}  // namespace

void MemoryPlan::verify(const Step& step, const Communication& communication,
                        const StepSchedule& schedule) const {
  Verifier verifier(step, communication, schedule, *this);
  for (std::size_t i = 0; i < step.programs.size(); ++i) verifier.check(i);
}

std::string MemoryPlan::dump(const Step& step, const Communication& communication) const {
  std::string out = "sram " + std::to_string(sram_bytes) + " bytes a block, dram " +
                    std::to_string(dram_bytes) + " bytes\n";
  for (BufferId b = 0; b < slots.size(); ++b) {
    if (slots[b].unused) continue;
    const Buffer& buffer = communication.buffers[b];
    const Value& value = step.graph->values[buffer.value];
    out += "  buffer " + std::to_string(b) + " " + (buffer.space == Space::sram ? "sram" : "dram") + " +" +
           std::to_string(slots[b].offset) + " " + std::to_string(slots[b].bytes) + " bytes, " +
           (buffer.program == kNone
                ? "always"
                : "step '" + step.programs[buffer.program].name + "' actions " +
                      std::to_string(slots[b].first) + ".." + std::to_string(slots[b].last)) +
           ", " + text_of(value.type) + " of " + step.graph->where(value.node) +
           (slots[b].in_place ? ", in place" : "") + (slots[b].in_tile ? ", in a tile" : "") + "\n";
  }
  return out;
}

}  // namespace wafer::inline v0
