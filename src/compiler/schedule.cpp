// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/schedule.hpp>
#include <wafer/error.hpp>

namespace wafer::inline v0 {

StepSchedule schedule_step(const Step& step, const Communication& communication) {
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
        for (std::uint32_t t : closing[region]) schedule.actions.push_back({ActionKind::transfer, t});
        schedule.region_end[region] = static_cast<std::uint32_t>(schedule.actions.size());
      }
    };
    for (std::uint32_t p = 0; p < program.order.size(); ++p) {
      close_until(static_cast<std::size_t>(program.region[p]));
      for (std::uint32_t t : before[p]) schedule.actions.push_back({ActionKind::transfer, t});
      schedule.actions.push_back({ActionKind::compute, p});
    }
    close_until(kRegions);
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
      const bool commit = programs[i].region_of(a) == Region::commit;
      if (action.kind == ActionKind::transfer) {
        const Transfer& t = ops.transfers[action.index];
        if (moved[action.index]) throw InternalError("a transfer runs twice");
        moved[action.index] = true;
        reads(t.from, "a transfer");
        written[t.to] = true;
        if (commit) committed[t.to] = true;
        continue;
      }
      const NodeId id = program.order[action.index];
      const Node& node = graph.nodes[id];
      if (done[action.index]) throw InternalError(graph.where(id) + " runs twice");
      done[action.index] = true;
      if (commit && node.op.model().can_fail)
        throw InternalError(graph.where(id) + " can fail while committing");
      const std::uint32_t first = ops.first_operand[action.index];
      for (std::uint32_t k = 0; k < node.inputs; ++k) reads(ops.operands[first + k], graph.where(id));
      for (std::uint32_t k = node.inputs; k < node.inputs + node.values; ++k) {
        const BufferId to = ops.operands[first + k];
        const bool variable = communication.buffers[to].use == Buffer::Use::variable;
        if (variable != commit)
          throw InternalError(graph.where(id) + " writes a variable outside of the commit");
        written[to] = true;
        if (commit) committed[to] = true;
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
          out += "    " + std::to_string(a) + " " + step.graph->where(step.programs[i].order[action.index]) +
                 "\n";
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
