// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/schedule.hpp>
#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

// An update that runs as a tail opens the commit: from the last op that can fail on, nothing can be undone.
// A body that repeats may fail again, so all of it comes before.
std::uint32_t fallible_end_of(const Step& step, const Program& program, const ProgramSchedule& schedule) {
  const std::uint32_t commit = schedule.region_end[static_cast<std::size_t>(Region::epilogue)];
  bool early = false;
  std::uint32_t end = 0;
  for (std::uint32_t a = 0; a < commit; ++a) {
    const ScheduledAction& action = schedule.actions[a];
    if (action.kind == ActionKind::transfer) continue;
    for (std::uint32_t op : action.ops()) {
      if (step.graph->nodes[program.order[op]].op.model().can_fail) end = a + 1;
      early = early || program.region[op] == Region::commit;
    }
  }
  if (schedule.micro_batches > 1)
    end = std::max(end, schedule.region_end[static_cast<std::size_t>(Region::body)]);
  return early ? end : commit;
}

}  // namespace

std::vector<std::uint32_t> ScheduledAction::ops() const {
  std::vector<std::uint32_t> out{index};
  out.insert(out.end(), tails.begin(), tails.end());
  return out;
}

StepSchedule schedule_step(const Step& step, const Communication& communication, const Fusion& fusion) {
  StepSchedule out;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    const Program& program = step.programs[i];
    const std::vector<Transfer>& transfers = communication.programs[i].transfers;
    // Transfers before each op, in the order in which they were asked for; those without an op close their
    // region.
    std::vector<std::vector<std::uint32_t>> before(program.order.size());
    std::vector<std::uint32_t> closing[kRegions];
    for (std::uint32_t t = 0; t < transfers.size(); ++t) {
      if (transfers[t].before != kNone) {
        before[transfers[t].before].push_back(t);
      } else {
        closing[static_cast<std::size_t>(transfers[t].region)].push_back(t);
      }
    }
    ProgramSchedule& schedule = out.programs.emplace_back();
    schedule.micro_batches = communication.micro_batches_of(program);
    std::size_t region = 0;
    const auto close_until = [&](std::size_t next) {
      for (; region < next; ++region) {
        for (std::uint32_t t : closing[region]) schedule.actions.push_back({ActionKind::transfer, t, {}});
        schedule.region_end[region] = static_cast<std::uint32_t>(schedule.actions.size());
      }
    };
    for (std::uint32_t p = 0; p < program.order.size(); ++p) {
      if (fusion.programs[i].is_tail(p)) continue;
      close_until(static_cast<std::size_t>(program.region[p]));
      for (std::uint32_t t : before[p]) schedule.actions.push_back({ActionKind::transfer, t, {}});
      const auto tails = fusion.programs[i].tails_of(p);
      schedule.actions.push_back({ActionKind::compute, p, {tails.begin(), tails.end()}});
    }
    close_until(kRegions);
    schedule.fallible_end = fallible_end_of(step, program, schedule);
  }
  return out;
}

void StepSchedule::verify(const Step& step, const Communication& communication) const {
  const GraphData& graph = *step.graph;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Program& program = step.programs[i];
    const ProgramCommunication& ops = communication.programs[i];
    std::vector<bool> written(communication.buffers.size()), done(program.order.size()),
        moved(ops.transfers.size());
    for (std::size_t b = 0; b < written.size(); ++b) {
      const Buffer::Use use = communication.buffers[b].use;
      written[b] = use == Buffer::Use::variable || use == Buffer::Use::constant || use == Buffer::Use::feed;
    }
    std::vector<bool> committed(communication.buffers.size());
    const auto reads = [&](BufferId id, const std::string& who) {
      if (!written[id]) throw InternalError(who + " reads a buffer before it is written");
      if (committed[id]) throw InternalError(who + " reads a variable after its commit");
    };
    for (std::uint32_t a = 0; a < programs[i].actions.size(); ++a) {
      const ScheduledAction& action = programs[i].actions[a];
      const Region region = programs[i].region_of(a);
      const bool commit = region == Region::commit;
      const bool repeats = programs[i].micro_batches > 1 && region == Region::body;
      const bool may_write = a >= programs[i].fallible_end;
      if (action.kind == ActionKind::transfer) {
        const Transfer& t = ops.transfers[action.index];
        if (moved[action.index]) throw InternalError("a transfer runs twice");
        moved[action.index] = true;
        reads(t.from, "a transfer");
        written[t.to] = true;
        if (commit) committed[t.to] = true;
        continue;
      }
      for (std::uint32_t op : action.ops()) {
        const NodeId id = program.order[op];
        const Node& node = graph.nodes[id];
        if (done[op]) throw InternalError(graph.where(id) + " runs twice");
        done[op] = true;
        if (may_write && node.op.model().can_fail)
          throw InternalError(graph.where(id) + " can fail where variables may be written already");
        const std::uint32_t first = ops.first_operand[op];
        for (std::uint32_t k = 0; k < node.inputs; ++k) reads(ops.operands[first + k], graph.where(id));
        for (std::uint32_t k = node.inputs; k < node.inputs + node.values; ++k) {
          const BufferId to = ops.operands[first + k];
          const bool variable = communication.buffers[to].use == Buffer::Use::variable;
          if (variable && (!may_write || repeats))
            throw InternalError(graph.where(id) + " writes a variable before the commit");
          if (!variable && commit) throw InternalError(graph.where(id) + " writes no variable in the commit");
          written[to] = true;
          if (variable) committed[to] = true;
        }
      }
    }
    for (bool ran : done) {
      if (!ran) throw InternalError("an op never runs");
    }
    for (bool ran : moved) {
      if (!ran) throw InternalError("a transfer never runs");
    }
  }
}

std::string StepSchedule::dump(const Step& step, const Communication& communication) const {
  std::string out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out += "step '" + step.programs[i].name + "'\n";
    std::uint32_t a = 0;
    for (std::size_t r = 0; r < kRegions; ++r) {
      if (a == programs[i].region_end[r]) continue;
      out += "  " + std::string(name_of(static_cast<Region>(r)));
      if (static_cast<Region>(r) == Region::body) out += " x " + std::to_string(programs[i].micro_batches);
      out += "\n";
      for (; a < programs[i].region_end[r]; ++a) {
        const ScheduledAction& action = programs[i].actions[a];
        if (action.kind == ActionKind::compute) {
          out += "    " + std::to_string(a);
          for (std::uint32_t op : action.ops())
            out += (op == action.index ? " " : " + ") + step.graph->where(step.programs[i].order[op]);
          out += "\n";
        } else {
          const Transfer& t = communication.programs[i].transfers[action.index];
          out += "    " + std::to_string(a) + " " + std::string(name_of(t.kind)) + " buffer " +
                 std::to_string(t.from) + " -> " + std::to_string(t.to) + "\n";
        }
      }
    }
  }
  return out;
}

}  // namespace wafer::inline v0
