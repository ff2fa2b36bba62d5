// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/feature_cut.hpp"

#include <wafer/compiler/partition.hpp>
#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

ValueCut needed_cut(const ProgramFactors& factors, const ValueCut& factor, std::uint32_t first_outer,
                    int rank) {
  ValueCut cut = kWhole;
  for (std::size_t dir = 0; dir < kDirections; ++dir) {
    for (int d = 0; factor[dir] >= 0 && d < rank; ++d) {
      if (factors.outer[first_outer + static_cast<std::uint32_t>(d)] == factor[dir])
        cut[dir] = static_cast<std::int8_t>(d);
    }
  }
  return cut;
}

namespace {

class Partitioner {
 public:
  Partitioner(const Step& step, const StepFactors& factors, const Fabric& fabric, const Choices& choices)
      : step_(step), graph_(*step.graph), factors_(factors), fabric_(fabric), random_(choices.random_cuts) {
    out_.choices = choices;
  }

  Partition run() {
    for (std::size_t i = 0; i < step_.programs.size(); ++i) start_program(i);
    if (out_.choices.batch.active) cut_batch();
    if (out_.choices.feature.active) cut_feature();
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      for (std::size_t p = 0; p < step_.programs[i].order.size(); ++p) settle_results(i, p);
    }
    return std::move(out_);
  }

 private:
  void start_program(std::size_t i) {
    ProgramPartition& part = out_.programs.emplace_back();
    part.factor.assign(step_.programs[i].order.size(), kWhole);
    part.chain.assign(step_.programs[i].order.size(), -1);
    part.produced.assign(graph_.values.size(), kWhole);
  }

  static std::size_t index_of(Mesh direction) { return static_cast<std::size_t>(direction); }

  void set_parts(const Choices::Cut& cut, const std::string& what, Index pieces) {
    const Index blocks = cut.direction == Mesh::rows ? fabric_.rows : fabric_.columns;
    if (cut.parts < 1 || cut.parts > blocks || cut.parts > pieces) {
      throw CompileError("partition: expected " + what + " to be cut into at most " +
                         std::to_string(std::min(blocks, pieces)) + " parts on " + fabric_.name + ", got " +
                         std::to_string(cut.parts));
    }
    out_.parts[index_of(cut.direction)] = cut.parts;
  }

  void cut_batch() {
    const Choices::Cut& cut = out_.choices.batch;
    const std::size_t dir = index_of(cut.direction);
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      const Program& program = step_.programs[i];
      if (program.batch_axis < 0) continue;
      const Axis& axis = graph_.axes[static_cast<std::size_t>(program.batch_axis)];
      const Index micro = program.whole_batch == kNone ? out_.choices.micro_batches : 1;
      set_parts(cut, "axis '" + axis.name + "'", axis.extent / micro);
      for (std::size_t p = 0; p < program.order.size(); ++p) {
        const auto of = factors_.programs[i].of(p);
        for (std::size_t f = 0; f < of.size(); ++f) {
          if (of[f].axis != program.batch_axis || !of[f].splittable || of[f].unit != 1) continue;
          if (out_.choices.random_cuts && !mostly(random_, 3)) break;
          out_.programs[i].factor[p][dir] = static_cast<std::int8_t>(f);
          break;
        }
      }
      for (ValueId source : program.sources) {
        const Value& value = graph_.values[source];
        for (int d = 0; d < value.type.shape.rank(); ++d) {
          if (value.axes[static_cast<std::size_t>(d)] != program.batch_axis) continue;
          out_.programs[i].produced[source][dir] = static_cast<std::int8_t>(d);
          break;
        }
      }
    }
  }

  void cut_feature() {
    const Choices::Cut& cut = out_.choices.feature;
    const std::uint32_t cls = factors_.class_of(out_.choices.feature_value, out_.choices.feature_dim);
    if (cls == kNone) throw CompileError("partition: expected a feature dimension to cut, got none");
    const FactorClass& of = factors_.classes[cls];
    const std::string what = "dimension " + std::to_string(out_.choices.feature_dim) + " (" +
                             std::to_string(of.extent) + ") of " +
                             graph_.where(graph_.values[out_.choices.feature_value].node);
    if (!of.uniform)
      throw CompileError("partition: expected " + what +
                         " to be a factor of its own, got a part of a product");
    set_parts(cut, what, of.extent / of.unit);
    if (out_.choices.batch.active && out_.choices.batch.direction == cut.direction) {
      throw CompileError("partition: expected batch and " + what +
                         " on two directions of the mesh, got one for both");
    }
    out_.feature_class = cls;
    out_.feature_unit = of.unit;
    choose_feature_cuts(step_, factors_, fabric_, cls, random_, out_);
  }

  // How results lie follows from the op's cuts; a sum over a cut factor is passed on along its direction.
  void settle_results(std::size_t i, std::size_t p) {
    const Node& node = graph_.nodes[step_.programs[i].order[p]];
    const ProgramFactors& factors = factors_.programs[i];
    ProgramPartition& part = out_.programs[i];
    std::uint32_t at = factors.first_outer[p];
    for (ValueId value : graph_.inputs_of(node))
      at += static_cast<std::uint32_t>(graph_.values[value].type.shape.rank());
    for (std::uint32_t r = 0; r < node.values; ++r) {
      const int rank = graph_.values[node.first_value + r].type.shape.rank();
      part.produced[node.first_value + r] = needed_cut(factors, part.factor[p], at, rank);
      at += static_cast<std::uint32_t>(rank);
    }
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      if (part.factor[p][dir] < 0 || out_.parts[dir] == 1) continue;
      if (factors.of(p)[static_cast<std::size_t>(part.factor[p][dir])].kind == FactorKind::reduced) {
        part.chain[p] = static_cast<std::int8_t>(dir);
      }
    }
  }

  const Step& step_;
  const GraphData& graph_;
  const StepFactors& factors_;
  const Fabric& fabric_;
  std::uint64_t random_;
  Partition out_;
};

std::string name_of(std::size_t direction) { return direction == 0 ? "rows" : "columns"; }

}  // namespace

Partition partition_step(const Step& step, const StepFactors& factors, const Fabric& fabric,
                         const Choices& choices) {
  return Partitioner(step, factors, fabric, choices).run();
}

void Partition::verify(const Step& step, const StepFactors& factors) const {
  std::vector<ValueCut> variables(step.graph->values.size(), kWhole);
  std::vector<bool> seen(step.graph->values.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    for (std::size_t p = 0; p < step.programs[i].order.size(); ++p) {
      const auto of = factors.programs[i].of(p);
      int chains = 0;
      for (std::size_t dir = 0; dir < kDirections; ++dir) {
        const std::int8_t f = programs[i].factor[p][dir];
        if (f < 0) continue;
        if (!of[static_cast<std::size_t>(f)].splittable) {
          throw InternalError(step.graph->where(step.programs[i].order[p]) + " is cut in a whole factor");
        }
        chains += of[static_cast<std::size_t>(f)].kind == FactorKind::reduced && parts[dir] > 1;
      }
      if (chains != (programs[i].chain[p] >= 0)) {
        throw InternalError(step.graph->where(step.programs[i].order[p]) +
                            " has no chain for its sum, or two");
      }
    }
    for (ValueId source : step.programs[i].sources) {
      if (step.graph->nodes[step.graph->values[source].node].kind != NodeKind::variable) continue;
      if (seen[source] && variables[source] != programs[i].produced[source]) {
        throw InternalError(step.graph->where(step.graph->values[source].node) +
                            " lies differently in two steps");
      }
      seen[source] = true;
      variables[source] = programs[i].produced[source];
    }
  }
}

std::string Partition::dump(const Step& step, const StepFactors& factors) const {
  std::string out = "group " + std::to_string(parts[0]) + " x " + std::to_string(parts[1]) + " blocks, " +
                    choices.text() + "\n";
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out += "step '" + step.programs[i].name + "'\n";
    for (std::size_t p = 0; p < step.programs[i].order.size(); ++p) {
      const NodeId id = step.programs[i].order[p];
      std::string cuts;
      for (std::size_t dir = 0; dir < kDirections; ++dir) {
        const std::int8_t f = programs[i].factor[p][dir];
        if (f < 0) continue;
        const OpFactor& factor = factors.programs[i].of(p)[static_cast<std::size_t>(f)];
        const bool chain = programs[i].chain[p] == static_cast<std::int8_t>(dir);
        cuts += " " + std::to_string(factor.extent) + " over " + name_of(dir) + (chain ? " as a chain" : "");
      }
      if (!cuts.empty()) out += "  " + step.graph->where(id) + ":" + cuts + "\n";
    }
  }
  return out;
}

}  // namespace wafer::inline v0
