// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/memory_plan.hpp>
#include <wafer/compiler/search.hpp>
#include <wafer/compiler/tiling.hpp>
#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

std::string Choices::text() const {
  const auto cut_text = [](const Cut& cut) {
    return (cut.direction == Mesh::rows ? " over rows in " : " over columns in ") + std::to_string(cut.parts);
  };
  std::string out = "micro-batches " + std::to_string(micro_batches);
  if (batch.active) out += ", batch" + cut_text(batch);
  if (feature.active) out += ", feature" + cut_text(feature);
  return out;
}

namespace {

constexpr std::size_t kFeatureClasses = 4;

Mesh other(Mesh direction) { return direction == Mesh::rows ? Mesh::columns : Mesh::rows; }

class Proposer {
 public:
  Proposer(const Step& step, const StepFactors& factors, const Fabric& fabric, Index micro_batches,
           Index workers)
      : step_(step), factors_(factors), fabric_(fabric) {
    base_.micro_batches = micro_batches;
    base_.workers = workers;
    find_batch();
  }

  std::vector<Choices> run() {
    if (!step_.graph->splits.empty()) return {hinted()};
    std::vector<Choices> out{base_};
    if (fabric_.blocks() == 1) return out;
    const std::vector<std::uint32_t> classes = heavy_classes();
    for (const Mesh direction : {Mesh::rows, Mesh::columns}) {
      for (Index most : part_limits(blocks(direction))) {
        Choices choices = base_;
        if (set_batch(choices, direction, most)) out.push_back(choices);
      }
      // Without the batch, and with it in as many parts as there are blocks.
      Choices with_batch = base_;
      const bool batch = set_batch(with_batch, direction, blocks(direction));
      for (std::uint32_t cls : classes) {
        for (Index most : part_limits(blocks(other(direction)))) {
          Choices choices = base_;
          if (set_feature(choices, cls, other(direction), most)) out.push_back(choices);
          choices = with_batch;
          if (batch && set_feature(choices, cls, other(direction), most)) out.push_back(choices);
        }
      }
    }
    return out;
  }

 private:
  // Parts worth trying: all blocks of a direction, and few, since a chain waits for each of its links.
  static std::vector<Index> part_limits(Index blocks) {
    std::vector<Index> out;
    for (Index parts : {Index{2}, Index{4}, Index{16}}) {
      if (parts < blocks) out.push_back(parts);
    }
    if (blocks > 1) out.push_back(blocks);
    return out;
  }

  Index blocks(Mesh direction) const { return direction == Mesh::rows ? fabric_.rows : fabric_.columns; }

  void find_batch() {
    for (const Program& program : step_.programs) {
      if (program.batch_axis < 0) continue;
      const Index micro = program.whole_batch == kNone ? base_.micro_batches : 1;
      const Index extent = step_.graph->axes[static_cast<std::size_t>(program.batch_axis)].extent / micro;
      batch_axis_ = program.batch_axis;
      batch_pieces_ = batch_pieces_ == 0 ? extent : std::min(batch_pieces_, extent);
    }
  }

  bool set_batch(Choices& choices, Mesh direction, Index most) const {
    const Index parts = std::min(most, batch_pieces_);
    if (parts < 2) return false;
    choices.batch = {true, direction, parts};
    return true;
  }

  bool set_feature(Choices& choices, std::uint32_t cls, Mesh direction, Index most) const {
    const FactorClass& of = factors_.classes[cls];
    const Index parts = std::min(most, of.extent / of.unit);
    if (parts < 2 || !of.uniform) return false;
    choices.feature = {true, direction, parts};
    choices.feature_value = of.value;
    choices.feature_dim = of.dim;
    return true;
  }

  bool is_batch(std::uint32_t cls) const {
    const FactorClass& of = factors_.classes[cls];
    return step_.graph->values[of.value].axes[static_cast<std::size_t>(of.dim)] == batch_axis_ &&
           batch_axis_ >= 0;
  }

  std::vector<std::uint32_t> heavy_classes() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t c = 0; c < factors_.classes.size(); ++c) {
      if (factors_.classes[c].uniform && factors_.classes[c].flops > 0 && !is_batch(c)) out.push_back(c);
    }
    std::stable_sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
      return factors_.classes[a].flops > factors_.classes[b].flops;
    });
    if (out.size() > kFeatureClasses) out.resize(kFeatureClasses);
    return out;
  }

  [[noreturn]] void refuse(const SplitHint& hint, const std::string& why) const {
    throw CompileError("split of dimension " + std::to_string(hint.dim) + " of " +
                       step_.graph->where(step_.graph->values[hint.value].node) + " over " +
                       (hint.direction == Mesh::rows ? "rows" : "columns") + ": " + why);
  }

  Choices hinted() const {
    Choices choices = base_;
    for (const SplitHint& hint : step_.graph->splits) {
      if (blocks(hint.direction) < 2) {
        refuse(hint, "expected a mesh with more than one block in that direction, got " + fabric_.name);
      }
      const Choices before = choices;
      const bool batch =
          batch_axis_ >= 0 &&
          step_.graph->values[hint.value].axes[static_cast<std::size_t>(hint.dim)] == batch_axis_;
      if (batch) {
        if (!set_batch(choices, hint.direction, blocks(hint.direction)))
          refuse(hint, "expected a batch of at least two rows in each micro-batch to cut, got " +
                           std::to_string(batch_pieces_));
        if (before.batch.active && before.batch.direction != hint.direction) {
          refuse(hint, "expected one direction for the batch, got two");
        }
      } else {
        hint_feature(choices, before, hint);
      }
      if (choices.batch.active && choices.feature.active &&
          choices.batch.direction == choices.feature.direction) {
        refuse(hint, "expected batch and feature on two directions of the mesh, got one for both");
      }
    }
    return choices;
  }

  void hint_feature(Choices& choices, const Choices& before, const SplitHint& hint) const {
    const std::uint32_t cls = factors_.class_of(hint.value, hint.dim);
    if (cls == kNone || factors_.classes[cls].flops <= 0)
      refuse(hint, "expected a dimension that ops can be cut in");
    if (!set_feature(choices, cls, hint.direction, blocks(hint.direction))) {
      const FactorClass& of = factors_.classes[cls];
      if (!of.uniform)
        refuse(hint,
               "expected a dimension that all ops cut in the same way, got one that is "
               "part of another dimension in some op");
      refuse(hint, "expected an extent of at least " + std::to_string(2 * of.unit) +
                       " to cut, since each piece takes at least " + std::to_string(of.unit) +
                       (of.unit == 1 ? " element" : " elements") + ", got an extent of " +
                       std::to_string(of.extent));
    }
    const bool clash =
        before.feature.active && (factors_.class_of(before.feature_value, before.feature_dim) != cls ||
                                  before.feature.direction != hint.direction);
    if (clash) refuse(hint, "expected one feature dimension to cut besides the batch, got two");
  }

  const Step& step_;
  const StepFactors& factors_;
  const Fabric& fabric_;
  Choices base_;
  int batch_axis_ = -1;
  Index batch_pieces_ = 0;
};

}  // namespace

std::vector<Choices> candidates(const Step& step, const StepFactors& factors, const Fabric& fabric,
                                Index micro_batches, Index workers) {
  return Proposer(step, factors, fabric, micro_batches, workers).run();
}

std::vector<Index> further_micro_batches(const Step& step) {
  Index most = 0;
  for (const Program& program : step.programs) {
    if (program.batch_axis < 0) continue;
    if (program.whole_batch != kNone && !program.assignments.empty()) return {};
    bool cut = false;
    for (const SplitHint& hint : step.graph->splits) {
      const AxisTags& axes = step.graph->values[hint.value].axes;
      cut = cut || axes[static_cast<std::size_t>(hint.dim)] == program.batch_axis;
    }
    // A batch that is to be cut needs two rows in each.
    const Index extent =
        step.graph->axes[static_cast<std::size_t>(program.batch_axis)].extent / (cut ? 2 : 1);
    most = most == 0 ? extent : std::min(most, extent);
  }
  std::vector<Index> out;
  for (Index parts = 2; parts < most; parts *= 2) out.push_back(parts);
  if (most > 1) out.push_back(most);
  return out;
}

std::vector<double> predicted_seconds(const Step& step, const Partition& partition,
                                      const Communication& communication, const Fabric& fabric) {
  std::vector<double> seconds(step.programs.size());
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    double& total = seconds[i];
    const Program& program = step.programs[i];
    const auto micro = static_cast<double>(communication.micro_batches_of(program));
    for (std::size_t p = 0; p < program.order.size(); ++p) {
      const Node& node = step.graph->nodes[program.order[p]];
      const Types out = step.graph->result_types(node);
      const Cost cost = node.op.cost(step.graph->input_types(node), out);
      double share = 1;
      for (std::size_t dir = 0; dir < kDirections; ++dir) {
        if (partition.programs[i].factor[p][dir] >= 0) share /= static_cast<double>(partition.parts[dir]);
      }
      const double once = share * std::max(cost.flops / fabric.flops, cost.bytes / fabric.memory_rate);
      const double repeats = program.region[p] == Region::body ? micro : 1;
      total += once + repeats * fabric.setup;
      if (partition.programs[i].chain[p] >= 0) {  // blocks of a chain wait for each other
        const auto parts =
            static_cast<double>(partition.parts[static_cast<std::size_t>(partition.programs[i].chain[p])]);
        double bytes = 0;
        for (const TensorType& type : out) bytes += static_cast<double>(bytes_of(type));
        total += (parts - 1) * once + repeats * parts * (bytes / fabric.link_rate + fabric.hop);
      }
    }
    for (const Transfer& t : communication.programs[i].transfers) {
      const Grid grid = grid_of(step, partition, communication, t.to);
      auto bytes =
          static_cast<double>(size_of(step.graph->values[communication.buffers[t.to].value].type.dtype));
      for (const Division& d : divisions_of(step, partition, communication, t.to)) {
        bytes *= static_cast<double>(local_extent(d, grid));
      }
      const double hops = static_cast<double>(partition.parts[0] + partition.parts[1]) * fabric.hop;
      total += (t.region == Region::body ? micro : 1) * (bytes / fabric.link_rate + hops);
    }
  }
  return seconds;
}

}  // namespace wafer::inline v0
