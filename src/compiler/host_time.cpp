// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/host_time.hpp>

#include <algorithm>

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
      const double tile = work(program, action) / (tiles * repeats) +
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

  double work(std::size_t program, const ScheduledAction& action) const {
    double seconds = 0;
    std::vector<ValueId> grouped;
    for (std::uint32_t op : action.ops()) {
      const Node& node = graph_.nodes[step_.programs[program].order[op]];
      const Types in = graph_.input_types(node), out = graph_.result_types(node);
      const Cost cost = node.op.cost(in, out);
      if (is_product(program, op, cost)) {
        seconds += cost.flops * padding(out[0].shape) / fabric_.flops;
      } else {
        // What a tail reads of its head is in cache.
        double bytes = cost.bytes;
        for (ValueId value : graph_.inputs_of(node)) {
          if (std::find(grouped.begin(), grouped.end(), value) != grouped.end())
            bytes -= static_cast<double>(bytes_of(graph_.values[value].type));
        }
        seconds += std::max(bytes / rate(cost.bytes), cost.flops / (kOtherArithmetic * fabric_.flops));
      }
      for (std::uint32_t r = 0; r < node.values; ++r) grouped.push_back(node.first_value + r);
    }
    return seconds;
  }

  // Sums of products: more operations than bytes.
  bool is_product(std::size_t program, std::uint32_t op, const Cost& cost) const {
    const auto of = factors_.programs[program].of(op);
    return cost.flops > cost.bytes && std::any_of(of.begin(), of.end(), [](const OpFactor& factor) {
             return factor.kind == FactorKind::reduced;
           });
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
                                 const Tiling& tiling, const Fabric& fabric, KernelTarget target) {
  const HostTime time(step, factors, communication, fabric, partition.choices.workers, lanes_of(target));
  std::vector<double> out;
  for (std::size_t i = 0; i < step.programs.size(); ++i)
    out.push_back(time.of(i, schedule.programs[i], tiling.programs[i]));
  return out;
}

}  // namespace wafer::inline v0
