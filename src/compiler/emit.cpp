// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/hazards.hpp"

#include <wafer/compiler/emit.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

class Emitter {
 public:
  Emitter(const Step& step, const StepFactors& factors, const Partition& partition, const Tiling& tiling,
          const Communication& communication, const StepSchedule& schedule, const MemoryPlan& memory)
      : step_(step),
        graph_(*step.graph),
        factors_(factors),
        partition_(partition),
        tiling_(tiling),
        communication_(communication),
        schedule_(schedule),
        memory_(memory),
        out_(std::make_shared<ExecutableData>()) {}

  std::shared_ptr<ExecutableData> run(const Fabric& fabric, KernelTarget target) {
    out_->axes = graph_.axes;
    out_->parts = partition_.parts;
    out_->host = fabric.shared_memory;
    out_->sram_bytes = memory_.sram_bytes;
    out_->dram_bytes = memory_.dram_bytes;
    out_->target = target;
    out_->workers = partition_.choices.workers;
    for (BufferId b = 0; b < communication_.buffers.size(); ++b) emit_buffer(b);
    for (std::size_t i = 0; i < step_.programs.size(); ++i) emit_program(i);
    return out_;
  }

 private:
  void emit_buffer(BufferId b) {
    const Buffer& buffer = communication_.buffers[b];
    const Value& value = graph_.values[buffer.value];
    const std::vector<Division> divisions = divisions_of(step_, partition_, communication_, b);
    const Grid grid = grid_of(step_, partition_, communication_, b);
    BufferRecord record;
    record.space = buffer.space;
    record.dtype = value.type.dtype;
    record.rank = value.type.shape.rank();
    record.first_dim = static_cast<std::uint32_t>(out_->dims.size());
    record.offset = memory_.slots[b].offset;
    record.bytes = memory_.slots[b].bytes;
    Index stride = 1;
    out_->dims.resize(out_->dims.size() + divisions.size());
    for (std::size_t d = divisions.size(); d-- > 0;) {
      out_->dims[record.first_dim + d] = {divisions[d], stride};
      stride *= std::max<Index>(1, local_extent(divisions[d], grid));
    }
    out_->buffers.push_back(record);
    const Node& node = graph_.nodes[value.node];
    if (buffer.use == Buffer::Use::variable) {
      const VariableInfo& info = graph_.variables[node.source];
      out_->variables.push_back({info.path, b, info.init, info.trained});
    } else if (buffer.use == Buffer::Use::constant) {
      out_->constants.push_back({b, graph_.constants[node.source].bytes});
    }
  }

  void emit_program(std::size_t i) {
    const Program& program = step_.programs[i];
    const ProgramSchedule& schedule = schedule_.programs[i];
    ProgramRecord record;
    record.name = program.name;
    record.grid = {partition_.parts, schedule.micro_batches};
    record.region_end = schedule.region_end;
    record.trains = !program.assignments.empty();
    std::vector<std::vector<Access>> accesses;
    for (const ScheduledAction& action : schedule.actions) {
      record.actions.push_back(action.kind == ActionKind::compute ? emit_op(i, action.index)
                                                                  : emit_transfer(i, action.index));
      accesses.push_back(accesses_of(record.actions.back()));
    }
    const std::vector<Waits> waits = find_waits(accesses, schedule.region_end[0], schedule.region_end[1],
                                                schedule.region_end[2], schedule.micro_batches > 1);
    for (std::size_t a = 0; a < waits.size(); ++a) record.actions[a].waits = waits[a];
    const ProgramCommunication& ops = communication_.programs[i];
    for (std::size_t f = 0; f < ops.feeds.size(); ++f) {
      record.feeds.push_back(
          {graph_.feeds[graph_.nodes[graph_.values[ops.feed_values[f]].node].source].name, ops.feeds[f]});
    }
    for (std::size_t f = 0; f < ops.fetches.size(); ++f)
      record.fetches.push_back({program.fetches[f].name, ops.fetches[f]});
    out_->programs.push_back(std::move(record));
  }

  std::uint32_t place_of(NodeId id) {
    std::string text = graph_.where(id);
    const auto [known, added] = places_.try_emplace(text, static_cast<std::uint32_t>(out_->places.size()));
    if (added) out_->places.push_back(std::move(text));
    return known->second;
  }

  ActionRecord emit_op(std::size_t i, std::uint32_t p) {
    const Program& program = step_.programs[i];
    const Node& node = graph_.nodes[program.order[p]];
    const ProgramFactors& factors = factors_.programs[i];
    ActionRecord action;
    action.chain = partition_.programs[i].chain[p];
    action.op = static_cast<std::uint32_t>(out_->ops.size());
    OpRecord op{node.op, node.op.model().run, place_of(program.order[p])};
    const Kernels kernels = node.op.kernels(graph_.input_types(node));
    if (!kernels.empty()) {
      op.run = kernels.front().run;
      out_->scratch_bytes =
          std::max(out_->scratch_bytes, round_up(kernels.front().scratch_bytes, kBufferAlignment));
    }
    out_->ops.push_back(std::move(op));

    const Cost cost = node.op.cost(graph_.input_types(node), graph_.result_types(node));
    action.flops = cost.flops;
    action.bytes = cost.bytes;
    action.first_factor = static_cast<std::uint32_t>(out_->factors.size());
    const std::vector<Division> divisions = divisions_of(step_, factors_, partition_, communication_, i, p);
    const OpTiling& tiling = tiling_.programs[i][p];
    action.factors = static_cast<std::uint32_t>(divisions.size());
    action.tiles = static_cast<std::uint32_t>(tiling.tiles());
    for (std::size_t f = 0; f < divisions.size(); ++f) {
      FactorRecord factor{divisions[f], 0, 1};
      for (std::size_t k = 0; k < 2; ++k) {
        if (tiling.factor[k] != static_cast<std::int8_t>(f)) continue;
        factor.tile = tiling.length[k];
        factor.tiles = tiling.count[k];
      }
      action.sums_batch =
          action.sums_batch || (divisions[f].micro && factors.of(p)[f].kind == FactorKind::reduced);
      out_->factors.push_back(factor);
    }

    action.first_operand = static_cast<std::uint32_t>(out_->operands.size());
    action.inputs = node.inputs;
    action.results = node.values;
    std::uint32_t at = factors.first_outer[p];
    for (std::uint32_t k = 0; k < node.inputs + node.values; ++k) {
      const ValueId value =
          k < node.inputs ? graph_.inputs[node.first_input + k] : node.first_value + (k - node.inputs);
      const Shape& shape = graph_.values[value].type.shape;
      out_->operands.push_back(
          {communication_.programs[i].operands[communication_.programs[i].first_operand[p] + k],
           static_cast<std::uint32_t>(out_->operand_dims.size())});
      for (int d = 0; d < shape.rank(); ++d, ++at) {
        const std::int8_t f = factors.outer[at];
        const Index outer = f < 0 ? 1 : divisions[static_cast<std::size_t>(f)].extent;
        out_->operand_dims.push_back({f, outer == 0 ? 1 : shape[d] / outer});
      }
    }
    return action;
  }

  ActionRecord emit_transfer(std::size_t i, std::uint32_t t) {
    const Transfer& transfer = communication_.programs[i].transfers[t];
    ActionRecord action;
    action.kind = ActionKind::transfer;
    action.chain = transfer.chain;
    action.from = transfer.from;
    action.to = transfer.to;
    action.to_dram = communication_.buffers[transfer.to].space == Space::dram;
    action.in_place_chain = transfer.from == transfer.to;
    return action;
  }

  std::vector<Access> accesses_of(const ActionRecord& action) const {
    std::vector<Access> out;
    const auto add = [&](std::uint32_t buffer, bool write, bool all) {
      const BufferRecord& b = out_->buffers[buffer];
      out.push_back({b.space, b.offset, b.offset + b.bytes, write, all});
    };
    if (action.kind == ActionKind::transfer) {
      add(action.from, false, true);
      add(action.to, true, true);
      return out;
    }
    for (std::uint32_t k = 0; k < action.inputs + action.results; ++k) {
      const bool result = k >= action.inputs;
      add(out_->operands[action.first_operand + k].buffer, result, result && action.chain >= 0);
    }
    return out;
  }

  const Step& step_;
  const GraphData& graph_;
  const StepFactors& factors_;
  const Partition& partition_;
  const Tiling& tiling_;
  const Communication& communication_;
  const StepSchedule& schedule_;
  const MemoryPlan& memory_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::shared_ptr<ExecutableData> out_;
};

}  // namespace

std::shared_ptr<ExecutableData> emit(const Step& step, const StepFactors& factors, const Partition& partition,
                                     const Tiling& tiling, const Communication& communication,
                                     const StepSchedule& schedule, const MemoryPlan& memory,
                                     const Fabric& fabric, KernelTarget target) {
  return Emitter(step, factors, partition, tiling, communication, schedule, memory).run(fabric, target);
}

}  // namespace wafer::inline v0
