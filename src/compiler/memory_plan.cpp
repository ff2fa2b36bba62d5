// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/memory_plan.hpp>
#include <wafer/compiler/packer.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace wafer::inline v0 {

std::vector<Division> divisions_of(const Step& step, const Partition& partition,
                                   const Communication& communication, BufferId id) {
  const Buffer& buffer = communication.buffers[id];
  const Value& value = step.graph->values[buffer.value];
  std::vector<Division> out;
  for (int d = 0; d < value.type.shape.rank(); ++d) {
    Division division;
    division.extent = value.type.shape[d];
    division.axis = value.axes[static_cast<std::size_t>(d)];
    if (division.axis >= 0)
      division.per = division.extent / step.graph->axes[static_cast<std::size_t>(division.axis)].extent;
    const bool batch = division.axis >= 0 && buffer.program != kNone &&
                       division.axis == step.programs[buffer.program].batch_axis;
    division.micro = batch && buffer.micro;
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      if (buffer.cut[dir] == d) division.direction = static_cast<std::int8_t>(dir);
    }
    if (division.direction >= 0 && !batch) division.unit = partition.feature_unit;
    out.push_back(division);
  }
  return out;
}

Grid grid_of(const Step& step, const Partition& partition, const Communication& communication, BufferId id) {
  const Buffer& buffer = communication.buffers[id];
  Grid grid{partition.parts, 1};
  if (buffer.program != kNone)
    grid.micro_batches = communication.micro_batches_of(step.programs[buffer.program]);
  return grid;
}

Storage storage_of(const Step& step, const Partition& partition, const Communication& communication,
                   const Layout& layout, BufferId id) {
  const Grid grid = grid_of(step, partition, communication, id);
  std::vector<Index> extents;
  for (const Division& d : divisions_of(step, partition, communication, id))
    extents.push_back(local_extent(d, grid));
  return lay_out(extents, layout.panelled[id], layout.gap[id]);
}

namespace {

using Slot = MemoryPlan::Slot;

constexpr Index kPackingEffort = 30'000'000;  // each of the plans that a search compares is packed

class Planner {
 public:
  Planner(const Step& step, const Partition& partition, const Communication& communication,
          const StepSchedule& schedule, const Layout& layout)
      : step_(step),
        partition_(partition),
        communication_(communication),
        schedule_(schedule),
        layout_(layout) {}

  MemoryPlan run() {
    slots_.resize(communication_.buffers.size());
    owner_.resize(slots_.size());
    for (BufferId b = 0; b < slots_.size(); ++b) {
      owner_[b] = b;
      slots_[b].bytes = bytes_of_buffer(b);
      slots_[b].unused = true;
    }
    for (std::size_t i = 0; i < step_.programs.size(); ++i) find_lifetimes(i);
    for (std::size_t i = 0; i < step_.programs.size(); ++i) find_in_place(i);
    find_in_tile();
    place();
    plan_.slots = std::move(slots_);
    return std::move(plan_);
  }

 private:
  Index bytes_of_buffer(BufferId b) const {
    const Index elements = storage_of(step_, partition_, communication_, layout_, b).elements;
    return checked_mul(elements, size_of(step_.graph->values[communication_.buffers[b].value].type.dtype));
  }

  void touch(BufferId b, std::int32_t action) {
    Slot& slot = slots_[b];
    slot.first = slot.unused ? action : std::min(slot.first, action);
    slot.last = slot.unused ? action : std::max(slot.last, action);
    slot.unused = false;
  }

  void find_lifetimes(std::size_t i) {
    const ProgramSchedule& schedule = schedule_.programs[i];
    const ProgramCommunication& ops = communication_.programs[i];
    const auto body_begin = static_cast<std::int32_t>(schedule.region_end[0]);
    const auto body_end = static_cast<std::int32_t>(schedule.region_end[1]);
    const auto end = static_cast<std::int32_t>(schedule.actions.size());
    const auto touch_all = [&](BufferId b, std::int32_t a) {
      touch(b, a);
      // What is not of one micro-batch lives through all of them.
      const bool loops = schedule.micro_batches > 1 && a >= body_begin && a < body_end;
      if (!loops || communication_.buffers[b].micro) return;
      touch(b, body_begin);
      touch(b, body_end - 1);
    };
    for (std::int32_t a = 0; a < end; ++a) {
      const ScheduledAction& action = schedule.actions[static_cast<std::size_t>(a)];
      if (action.kind == ActionKind::transfer) {
        touch_all(ops.transfers[action.index].from, a);
        touch_all(ops.transfers[action.index].to, a);
      } else {
        for (std::uint32_t op : action.ops()) {
          for (std::uint32_t k = ops.first_operand[op]; k < ops.first_operand[op + 1]; ++k)
            touch_all(ops.operands[k], a);
        }
      }
    }
    for (BufferId feed : ops.feeds) touch(feed, 0);                         // filled before the step
    for (BufferId fetch : ops.fetches) touch(fetch, std::max(end - 1, 0));  // read after it
  }

  // A result takes the memory of an input of the same layout that is read there for the last time.
  void find_in_place(std::size_t i) {
    const ProgramSchedule& schedule = schedule_.programs[i];
    const ProgramCommunication& communication = communication_.programs[i];
    for (std::int32_t a = 0; a < static_cast<std::int32_t>(schedule.actions.size()); ++a) {
      const ScheduledAction& action = schedule.actions[static_cast<std::size_t>(a)];
      if (action.kind != ActionKind::compute || partition_.programs[i].chain[action.index] >= 0) continue;
      const std::vector<std::uint32_t> ops = action.ops();
      std::vector<BufferId> read;  // by all ops of the action: piece by piece, in turn
      for (std::uint32_t op : ops) {
        const BufferId* operands = communication.operands.data() + communication.first_operand[op];
        read.insert(read.end(), operands, operands + node_of(i, op).inputs);
      }
      for (std::uint32_t op : ops) {
        const Node& node = node_of(i, op);
        if (!node.op.model().alias) continue;
        const BufferId* operands = communication.operands.data() + communication.first_operand[op];
        for (const AliasPair& pair : node.op.alias(step_.graph->input_types(node))) {
          const BufferId in = operands[pair.input],
                         out = operands[node.inputs + static_cast<std::uint32_t>(pair.result)];
          if (fits_in_place(in, out, a) && std::count(read.begin(), read.end(), in) == 1) merge(in, out);
        }
      }
    }
  }

  const Node& node_of(std::size_t program, std::uint32_t op) const {
    return step_.graph->nodes[step_.programs[program].order[op]];
  }

  bool fits_in_place(BufferId in, BufferId out, std::int32_t a) const {
    const Buffer &from = communication_.buffers[in], &to = communication_.buffers[out];
    const auto temporary = [](const Buffer& b) { return b.use == Buffer::Use::temporary; };
    return in != out && temporary(from) && temporary(to) && from.cut == to.cut && from.micro == to.micro &&
           from.space == to.space && layout_.panelled[in] == layout_.panelled[out] &&
           layout_.gap[in] == layout_.gap[out] && slots_[in].bytes == slots_[out].bytes &&
           slots_[in].last == a && slots_[out].first == a && owner_[out] == out && !slots_[out].in_place &&
           step_.graph->values[from.value].type == step_.graph->values[to.value].type;
  }

  void merge(BufferId in, BufferId out) {
    const BufferId owner = owner_[in];
    owner_[out] = owner;
    slots_[out].in_place = true;
    whole_last_[owner] = slots_[out].last;
  }

  // Buffers that share memory are all of a tile, or none is. Nor is one of tails whose op's result is not:
  // that one alone makes tiles small.
  void find_in_tile() {
    std::vector<bool> all(slots_.size(), true);
    for (BufferId b = 0; b < slots_.size(); ++b) all[owner_[b]] = all[owner_[b]] && layout_.in_tile[b];
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      const ProgramCommunication& communication = communication_.programs[i];
      for (const ScheduledAction& action : schedule_.programs[i].actions) {
        if (action.kind != ActionKind::compute || action.tails.empty()) continue;
        const BufferId result = communication.operands[communication.first_operand[action.index + 1] - 1];
        if (all[owner_[result]]) continue;
        for (std::uint32_t op : action.tails) {
          for (std::uint32_t k = communication.first_operand[op] + node_of(i, op).inputs;
               k < communication.first_operand[op + 1]; ++k)
            all[owner_[communication.operands[k]]] = false;
        }
      }
    }
    std::map<std::pair<std::uint32_t, std::int32_t>, Index> of_action;
    for (BufferId b = 0; b < slots_.size(); ++b) {
      Slot& slot = slots_[b];
      slot.in_tile = all[owner_[b]] && !slot.unused;
      if (!slot.in_tile) continue;
      slot.bytes = 0;
      if (owner_[b] == b) slot.offset = of_action[{communication_.buffers[b].program, slot.first}]++;
    }
  }

  void place() {
    Index most = 0;  // no packing is higher than all buffers on top of each other
    for (const Slot& slot : slots_) most = checked_add(most, round_up(slot.bytes, kBufferAlignment));
    Index base[2] = {0, 0};
    const auto space_of = [&](BufferId b) {
      return static_cast<std::size_t>(communication_.buffers[b].space);
    };
    for (BufferId b = 0; b < slots_.size(); ++b) {
      if (communication_.buffers[b].program != kNone) continue;
      slots_[b].offset = base[space_of(b)];
      base[space_of(b)] = checked_add(base[space_of(b)], round_up(slots_[b].bytes, kBufferAlignment));
    }
    Index height[2] = {base[0], base[1]};
    std::vector<std::vector<BufferId>> of(2 * step_.programs.size());
    for (BufferId b = 0; b < slots_.size(); ++b) {
      const Buffer& buffer = communication_.buffers[b];
      if (buffer.program == kNone || owner_[b] != b || slots_[b].unused || slots_[b].in_tile) continue;
      of[2 * buffer.program + space_of(b)].push_back(b);
    }
    for (std::size_t k = 0; k < of.size(); ++k) {
      std::vector<PackBuffer> buffers;
      for (BufferId b : of[k]) {
        const auto longer = whole_last_.find(b);
        PackBuffer& buffer = buffers.emplace_back();
        buffer.size = round_up(slots_[b].bytes, kBufferAlignment);
        buffer.begin = slots_[b].first;
        buffer.end = Index{longer == whole_last_.end() ? slots_[b].last : longer->second} + 1;
        buffer.alignment = kBufferAlignment;
      }
      const Packing packing = pack(buffers, {.effort = kPackingEffort});
      height[k % 2] = std::max(height[k % 2], checked_add(base[k % 2], packing.height));
      for (std::size_t n = 0; n < of[k].size(); ++n)
        slots_[of[k][n]].offset = base[k % 2] + packing.offsets[n];
    }
    for (BufferId b = 0; b < slots_.size(); ++b) slots_[b].offset = slots_[owner_[b]].offset;
    plan_.sram_bytes = height[0];
    plan_.dram_bytes = height[1];
  }

  const Step& step_;
  const Partition& partition_;
  const Communication& communication_;
  const StepSchedule& schedule_;
  const Layout& layout_;
  std::vector<Slot> slots_;
  std::vector<BufferId> owner_;  // the buffer whose memory this one takes, itself for most
  std::map<BufferId, std::int32_t> whole_last_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_memory(const Step& step, const Partition& partition, const Communication& communication,
                       const StepSchedule& schedule, const Layout& layout) {
  return Planner(step, partition, communication, schedule, layout).run();
}

}  // namespace wafer::inline v0
