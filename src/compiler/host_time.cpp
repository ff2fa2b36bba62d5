// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/host_time.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace wafer::inline v0 {

namespace {

// Of the fused multiply-adds that products reach, other arithmetic reaches about a quarter: one operation
// instead of two, and one vector in flight where a product has many.
constexpr double kOtherArithmetic = 0.25;

Index lanes_of(KernelTarget target) {
  switch (target) {
    case KernelTarget::avx512: return 16;
    case KernelTarget::avx2: return 8;
    case KernelTarget::sse4:
    case KernelTarget::neon: return 4;
    default: return 1;
  }
}

/// Whether an op adds up over a factor.
bool sums(const StepFactors& factors, std::size_t program, std::uint32_t op) {
  const auto of = factors.programs[program].of(op);
  return std::any_of(of.begin(), of.end(),
                     [](const OpFactor& factor) { return factor.kind == FactorKind::reduced; });
}

/// Whether an op sums products: more operations than bytes.
bool is_product(const StepFactors& factors, std::size_t program, std::uint32_t op, const Cost& cost) {
  return cost.flops > cost.bytes && sums(factors, program, op);
}

Cost cost_of(const Step& step, std::size_t program, std::uint32_t op) {
  const Node& node = step.graph->nodes[step.programs[program].order[op]];
  return node.op.cost(step.graph->input_types(node), step.graph->result_types(node));
}

/// Where a buffer lies: whether it outlives the step, and its offset.
using Location = std::pair<bool, Index>;

/// Whether a buffer holds all of the batch, of which a micro-batch walks its part: data of a step do.
bool holds_all_parts(const Step& step, const Program& program, const Buffer& buffer) {
  const Value& value = step.graph->values[buffer.value];
  const auto dims = static_cast<std::ptrdiff_t>(value.type.shape.rank());
  const bool has_batch = program.batch_axis >= 0 &&
                         std::count(value.axes.begin(), value.axes.begin() + dims, program.batch_axis) > 0;
  return has_batch && !buffer.micro;
}

/// The memory that an action of a product walks in one of `runs`: the operands of the product, and what its
/// tails make of it in their stead. Optimizer state passes by once in a step.
std::map<Location, Index> walked_by(const Step& step, const ScheduledAction& action, Index runs,
                                    std::size_t program, const Communication& communication,
                                    const MemoryPlan& memory) {
  std::map<Location, Index> bytes;
  const ProgramCommunication& ops = communication.programs[program];
  for (std::uint32_t op : action.ops()) {
    for (std::uint32_t k = ops.first_operand[op]; k < ops.first_operand[op + 1]; ++k) {
      const BufferId b = ops.operands[k];
      const MemoryPlan::Slot& slot = memory.slots[b];
      const bool persistent = communication.buffers[b].program == kNone;
      if (slot.in_tile || (persistent && op != action.index)) continue;
      Index& most = bytes[{persistent, slot.offset}];
      const bool whole = holds_all_parts(step, step.programs[program], communication.buffers[b]);
      most = std::max(most, whole ? slot.bytes / runs : slot.bytes);
    }
  }
  return bytes;
}

/// What all products of a step walk.
struct Walk {
  double bytes = 0;   ///< over all runs
  double memory = 0;  ///< bytes in which they lie
};

Walk walk_of(const Step& step, const StepFactors& factors, std::size_t program,
             const Communication& communication, const ProgramSchedule& schedule, const MemoryPlan& memory) {
  Walk walk;
  std::map<Location, Index> lying;
  for (std::uint32_t a = 0; a < schedule.actions.size(); ++a) {
    const ScheduledAction& action = schedule.actions[a];
    if (action.kind == ActionKind::transfer) continue;
    if (!sums(factors, program, action.index)) continue;  // (the cost is asked of few ops)
    if (!is_product(factors, program, action.index, cost_of(step, program, action.index))) continue;
    const bool body = schedule.region_of(a) == Region::body;
    const Index runs = body ? schedule.micro_batches : 1;
    for (const auto& [location, bytes] : walked_by(step, action, runs, program, communication, memory)) {
      walk.bytes += static_cast<double>(runs) * static_cast<double>(bytes);
      Index& most = lying[location];
      most = std::max(most, bytes);
    }
  }
  for (const auto& [location, bytes] : lying) walk.memory += static_cast<double>(bytes);
  return walk;
}

class HostTime {
 public:
  HostTime(const Step& step, const StepFactors& factors, const Communication& communication,
           const Fabric& fabric, Index workers, Index lanes)
      : graph_(*step.graph),
        step_(step),
        factors_(factors),
        communication_(communication),
        fabric_(fabric),
        workers_(static_cast<double>(workers)),
        lanes_(lanes) {}

  double of(std::size_t program, const ProgramSchedule& schedule,
            const std::vector<OpTiling>& tilings) const {
    double seconds = 2 * fabric_.setup + feeding(program);
    for (std::uint32_t a = 0; a < schedule.actions.size(); ++a) {
      const ScheduledAction& action = schedule.actions[a];
      if (action.kind == ActionKind::transfer) continue;  // on a host these are copies of scalars
      const bool body = schedule.region_of(a) == Region::body;
      const double repeats = body ? static_cast<double>(schedule.micro_batches) : 1;
      const auto tiles = static_cast<double>(tilings[action.index].tiles());
      const double tile = work(program, action, repeats) / (tiles * repeats) +
                          fabric_.setup * static_cast<double>(1 + action.tails.size());
      seconds += repeats * on_workers(tile, tiles);
    }
    return seconds;
  }

 private:
  double on_workers(double tile, double tiles) const {
    if (workers_ == 1) return tile * tiles;
    // The next action waits for the last tile, on average half a tile after the other workers are done.
    const double shared = tiles <= 1 ? tile : tile * (tiles / workers_ + (workers_ - 1) / (2 * workers_));
    return shared + fabric_.hop;
  }

  // The data of a step are copied into planned memory.
  double feeding(std::size_t program) const {
    double bytes = 0;
    for (ValueId value : communication_.programs[program].feed_values)
      bytes += 2 * static_cast<double>(bytes_of(graph_.values[value].type));
    return bytes / rate(bytes);
  }

  double rate(double bytes) const {
    return bytes <= static_cast<double>(fabric_.fast_memory) ? fabric_.fast_rate : fabric_.memory_rate;
  }

  double work(std::size_t program, const ScheduledAction& action, double repeats) const {
    double seconds = 0;
    std::vector<ValueId> grouped;
    for (std::uint32_t op : action.ops()) {
      const Node& node = graph_.nodes[step_.programs[program].order[op]];
      const Cost cost = cost_of(step_, program, op);
      if (is_product(factors_, program, op, cost)) {
        seconds += cost.flops * padding(graph_.values[node.first_value].type.shape) / fabric_.flops;
      } else {
        // What a tail reads of its head is in cache.
        double bytes = cost.bytes;
        for (ValueId value : graph_.inputs_of(node)) {
          if (std::find(grouped.begin(), grouped.end(), value) != grouped.end())
            bytes -= static_cast<double>(bytes_of(graph_.values[value].type));
        }
        seconds +=
            std::max(bytes / rate(cost.bytes / repeats), cost.flops / (kOtherArithmetic * fabric_.flops));
      }
      for (std::uint32_t r = 0; r < node.values; ++r) grouped.push_back(node.first_value + r);
    }
    return seconds;
  }

  double padding(const Shape& result) const {
    if (result.rank() == 0 || result[result.rank() - 1] == 0) return 1;
    const Index columns = result[result.rank() - 1];
    return static_cast<double>(round_up(columns, lanes_)) / static_cast<double>(columns);
  }

  const GraphData& graph_;
  const Step& step_;
  const StepFactors& factors_;
  const Communication& communication_;
  const Fabric& fabric_;
  double workers_;
  Index lanes_;
};

}  // namespace

std::vector<double> host_seconds(const Step& step, const StepFactors& factors, const Partition& partition,
                                 const Communication& communication, const StepSchedule& schedule,
                                 const Tiling& tiling, const MemoryPlan& memory, const Fabric& fabric,
                                 KernelTarget target) {
  const HostTime time(step, factors, communication, fabric, partition.choices.workers, lanes_of(target));
  std::vector<double> out = far_seconds(step, factors, communication, schedule, memory, fabric);
  for (std::size_t i = 0; i < step.programs.size(); ++i)
    out[i] += time.of(i, schedule.programs[i], tiling.programs[i]);
  return out;
}

std::vector<double> far_seconds(const Step& step, const StepFactors& factors,
                                const Communication& communication, const StepSchedule& schedule,
                                const MemoryPlan& memory, const Fabric& fabric) {
  std::vector<double> out;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    const Walk walk = walk_of(step, factors, i, communication, schedule.programs[i], memory);
    const double beyond = walk.memory - static_cast<double>(fabric.cache);
    out.push_back(beyond > 0 ? walk.bytes * (beyond / walk.memory) / fabric.far_rate : 0);
  }
  return out;
}

}  // namespace wafer::inline v0
