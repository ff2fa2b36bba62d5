// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/hazards.hpp"

#include <wafer/compiler/emit.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

class Emitter {
 public:
  Emitter(const Step& step, const StepFactors& factors, const Partition& partition, const Tiling& tiling,
          const Communication& communication, const StepSchedule& schedule, const Layout& layout,
          const MemoryPlan& memory)
      : step_(step),
        graph_(*step.graph),
        factors_(factors),
        partition_(partition),
        tiling_(tiling),
        communication_(communication),
        schedule_(schedule),
        layout_(layout),
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
    const Storage stored = storage_of(step_, partition_, communication_, layout_, b);
    BufferRecord record;
    record.space = memory_.slots[b].in_tile ? Space::tile : buffer.space;
    record.dtype = value.type.dtype;
    record.rank = value.type.shape.rank();
    record.first_dim = static_cast<std::uint32_t>(out_->dims.size());
    record.offset = memory_.slots[b].offset;
    record.bytes = memory_.slots[b].bytes;
    for (std::size_t d = 0; d < divisions.size(); ++d)
      out_->dims.push_back({divisions[d], stored.strides[d]});
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
    record.fallible_end = schedule.fallible_end;
    record.trains = !program.assignments.empty();
    std::vector<std::vector<Access>> accesses;
    for (const ScheduledAction& action : schedule.actions) {
      record.actions.push_back(action.kind == ActionKind::compute ? emit_op(i, action)
                                                                  : emit_transfer(i, action.index));
      accesses.push_back(accesses_of(record.actions.back()));
    }
    const std::vector<Waits> waits = find_waits(accesses, schedule.region_end[0], schedule.region_end[1],
                                                schedule.fallible_end, schedule.micro_batches > 1);
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

  std::uint32_t place_of(std::string text) {
    const auto [known, added] = places_.try_emplace(text, static_cast<std::uint32_t>(out_->places.size()));
    if (added) out_->places.push_back(std::move(text));
    return known->second;
  }

  // The op with its best kernel.
  std::uint32_t emit_kernel(NodeId id) {
    const Node& node = graph_.nodes[id];
    const Kernel kernel = node.op.best_kernel(graph_.input_types(node));
    OpRecord op{node.op, kernel.run, kernel.runs_tail, place_of(graph_.where(id))};
    op.scratch_bytes = round_up(kernel.scratch_bytes, kBufferAlignment);
    out_->ops.push_back(std::move(op));
    return static_cast<std::uint32_t>(out_->ops.size() - 1);
  }

  ActionRecord emit_op(std::size_t i, const ScheduledAction& scheduled) {
    const std::uint32_t p = scheduled.index;
    const Program& program = step_.programs[i];
    const Node& node = graph_.nodes[program.order[p]];
    ActionRecord action;
    action.chain = partition_.programs[i].chain[p];
    action.op = emit_kernel(program.order[p]);
    action.any_order = true;
    std::string where;
    for (std::uint32_t op : scheduled.ops()) {
      const Node& of = graph_.nodes[program.order[op]];
      action.any_order = action.any_order && !of.op.model().can_fail;
      const Cost cost = of.op.cost(graph_.input_types(of), graph_.result_types(of));
      action.flops += cost.flops;
      action.bytes += cost.bytes;
      where += (where.empty() ? "" : " + ") + graph_.where(program.order[op]);
    }
    action.where = place_of(std::move(where));
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
      out_->factors.push_back(factor);
    }
    action.sums_batch = sums_batch(i, p);
    action.inputs = node.inputs;
    action.results = node.values;
    std::vector<std::int8_t> own(divisions.size());
    std::iota(own.begin(), own.end(), std::int8_t{0});
    action.first_operand = emit_operands(i, p, own);
    emit_tails(i, scheduled, action);
    out_->scratch_bytes = std::max(out_->scratch_bytes, scratch_of(action));
    place_in_tile(i, scheduled);
    return action;
  }

  // The op's own, and behind it what the tails use in turn while the op is not done.
  Index scratch_of(const ActionRecord& action) const {
    Index of_tails = 0;
    for (std::uint32_t t = 0; t < action.tails; ++t)
      of_tails = std::max(of_tails, out_->ops[out_->tails[action.first_tail + t].op].scratch_bytes);
    return checked_add(out_->ops[action.op].scratch_bytes, of_tails);
  }

  // Buffers of an action that hold a tile alone, one behind the other: all in the shape of the head's result.
  void place_in_tile(std::size_t i, const ScheduledAction& scheduled) {
    const Node& node = graph_.nodes[step_.programs[i].order[scheduled.index]];
    const ProgramCommunication& ops = communication_.programs[i];
    std::vector<BufferId> in_tile;
    for (std::uint32_t op : scheduled.ops()) {
      for (std::uint32_t k = ops.first_operand[op]; k < ops.first_operand[op + 1]; ++k) {
        if (memory_.slots[ops.operands[k]].in_tile) in_tile.push_back(ops.operands[k]);
      }
    }
    if (in_tile.empty()) return;
    const std::vector<Index> extents = tile_extents(i, scheduled.index, node);
    Index largest = 0, last = 0;
    for (BufferId b : in_tile) {
      BufferRecord& record = out_->buffers[b];
      std::vector<Index> held = extents;
      // Panels of one row would lie as plain memory does, and so be no bounds to the pieces of tails, which
      // read other operands in panels too.
      if (layout_.panelled[b] >= 0) {
        Index& other = held[1 - static_cast<std::size_t>(layout_.panelled[b])];
        other = std::max<Index>(2, other);
      }
      const Storage stored = lay_out(held, layout_.panelled[b], layout_.gap[b]);
      for (std::size_t d = 0; d < stored.strides.size(); ++d)
        out_->dims[record.first_dim + d].stride = stored.strides[d];
      largest = std::max(largest, checked_mul(stored.elements, size_of(record.dtype)));
      last = std::max(last, memory_.slots[b].offset);
    }
    const Index each = round_up(largest, kBufferAlignment);
    for (BufferId b : in_tile) out_->buffers[b].offset = memory_.slots[b].offset * each;
    const Index bytes = checked_mul(last + 1, each);
    out_->tile_bytes = std::max(out_->tile_bytes, bytes);
  }

  // The greatest extents of a tile of an op's result.
  std::vector<Index> tile_extents(std::size_t i, std::uint32_t p, const Node& node) const {
    const std::int8_t* outer = factors_.programs[i].outer.data() + factors_.programs[i].first_outer[p + 1];
    const Shape& shape = graph_.values[node.first_value].type.shape;
    outer -= shape.rank();  // the result comes last
    const Grid grid{partition_.parts, schedule_.programs[i].micro_batches};
    const std::vector<Division> divisions = divisions_of(step_, factors_, partition_, communication_, i, p);
    std::vector<Index> extents;
    for (int d = 0; d < shape.rank(); ++d) {
      Index extent = shape[d];
      if (outer[d] >= 0) {
        const auto f = static_cast<std::size_t>(outer[d]);
        const Index inner = divisions[f].extent == 0 ? 1 : shape[d] / divisions[f].extent;
        Index length = local_extent(divisions[f], grid);
        const OpTiling& tiling = tiling_.programs[i][p];
        for (std::size_t k = 0; k < 2; ++k) {
          if (tiling.factor[k] == outer[d]) length = std::min(length, tiling.length[k]);
        }
        extent = length * inner;
      }
      extents.push_back(extent);
    }
    return extents;
  }

  bool sums_batch(std::size_t i, std::uint32_t p) const {
    const std::vector<Division> divisions = divisions_of(step_, factors_, partition_, communication_, i, p);
    bool sums = false;
    for (std::size_t f = 0; f < divisions.size(); ++f) {
      sums = sums || (divisions[f].micro && factors_.programs[i].of(p)[f].kind == FactorKind::reduced);
    }
    return sums;
  }

  void emit_tails(std::size_t i, const ScheduledAction& scheduled, ActionRecord& action) {
    const Program& program = step_.programs[i];
    action.first_tail = static_cast<std::uint32_t>(out_->tails.size());
    action.tails = static_cast<std::uint32_t>(scheduled.tails.size());
    std::vector<ValueId> shaped{graph_.nodes[program.order[scheduled.index]].first_value};
    for (std::uint32_t p : scheduled.tails) {
      const Node& node = graph_.nodes[program.order[p]];
      const std::vector<std::int8_t> in_head =
          factors_in_head(step_, factors_, i, scheduled.index, p, shaped);
      TailRecord tail;
      tail.op = emit_kernel(program.order[p]);
      tail.inputs = node.inputs;
      tail.results = node.values;
      tail.first_operand = emit_operands(i, p, in_head);
      tail.sums_batch = sums_batch(i, p);
      for (const OpFactor& factor : factors_.programs[i].of(p))
        tail.sums = tail.sums || factor.kind == FactorKind::reduced;
      out_->tails.push_back(tail);
      for (ValueId v : results_in_shape(step_, factors_, i, scheduled.index, p, in_head)) shaped.push_back(v);
    }
  }

  // `in_action`: which factor of the action each factor of the op is.
  std::uint32_t emit_operands(std::size_t i, std::uint32_t p, const std::vector<std::int8_t>& in_action) {
    const Node& node = graph_.nodes[step_.programs[i].order[p]];
    const ProgramFactors& factors = factors_.programs[i];
    const std::vector<Division> divisions = divisions_of(step_, factors_, partition_, communication_, i, p);
    const auto first = static_cast<std::uint32_t>(out_->operands.size());
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
        out_->operand_dims.push_back(
            {f < 0 ? -1 : in_action[static_cast<std::size_t>(f)], outer == 0 ? 1 : shape[d] / outer});
      }
    }
    return first;
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
      if (b.space != Space::tile) out.push_back({b.space, b.offset, b.offset + b.bytes, write, all});
    };
    if (action.kind == ActionKind::transfer) {
      add(action.from, false, true);
      add(action.to, true, true);
      return out;
    }
    const auto add_operands = [&](std::uint32_t first, std::uint32_t inputs, std::uint32_t results) {
      for (std::uint32_t k = 0; k < inputs + results; ++k) {
        const bool result = k >= inputs;
        add(out_->operands[first + k].buffer, result, result && action.chain >= 0);
      }
    };
    add_operands(action.first_operand, action.inputs, action.results);
    for (std::uint32_t t = action.first_tail; t < action.first_tail + action.tails; ++t)
      add_operands(out_->tails[t].first_operand, out_->tails[t].inputs, out_->tails[t].results);
    return out;
  }

  const Step& step_;
  const GraphData& graph_;
  const StepFactors& factors_;
  const Partition& partition_;
  const Tiling& tiling_;
  const Communication& communication_;
  const StepSchedule& schedule_;
  const Layout& layout_;
  const MemoryPlan& memory_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::shared_ptr<ExecutableData> out_;
};

}  // namespace

std::shared_ptr<ExecutableData> emit(const Step& step, const StepFactors& factors, const Partition& partition,
                                     const Tiling& tiling, const Communication& communication,
                                     const StepSchedule& schedule, const Layout& layout,
                                     const MemoryPlan& memory, const Fabric& fabric, KernelTarget target) {
  return Emitter(step, factors, partition, tiling, communication, schedule, layout, memory)
      .run(fabric, target);
}

}  // namespace wafer::inline v0
