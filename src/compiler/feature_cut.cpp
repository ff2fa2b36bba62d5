// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/feature_cut.hpp"

#include "compiler/graph_algorithms.hpp"

#include <algorithm>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

constexpr std::uint32_t kCutSide = 0, kWholeSide = 1;   // source and sink of the minimum cut
constexpr std::int64_t kNever = std::int64_t{1} << 50;  // more than any plan costs, in picoseconds

std::int64_t picoseconds(double seconds) {
  constexpr std::int64_t kMost = kNever / 4096;
  return static_cast<std::int64_t>(std::min(seconds * 1e12, static_cast<double>(kMost - 1))) + 1;
}

// One program's ops and sources as the vertices of a minimum cut.
class FeatureCut {
 public:
  FeatureCut(const Step& step, const StepFactors& factors, const Fabric& fabric, std::uint32_t cls,
             std::uint64_t& random, Partition& partition)
      : step_(step),
        graph_(*step.graph),
        factors_(factors),
        fabric_(fabric),
        cls_(cls),
        random_(random),
        partition_(partition),
        parts_(partition.choices.feature.parts),
        dir_(static_cast<std::size_t>(partition.choices.feature.direction)) {}

  void run(std::size_t program, std::unordered_map<ValueId, bool>& variables) {
    program_ = program;
    number_vertices();
    std::vector<bool> cut;
    if (partition_.choices.random_cuts) {
      cut = at_random(variables);
    } else {
      add_op_costs();
      add_reads();
      add_variables(variables);
      cut = algorithms::minimum_cut(vertices_, arcs_);
    }
    write(cut, variables);
  }

 private:
  const Program& program() const { return step_.programs[program_]; }

  // The op's factor of the class that can be cut: a parallel one before a sum; -1 for none.
  int factor_of(std::size_t p) const {
    const auto of = factors_.programs[program_].of(p);
    int best = -1;
    for (std::size_t f = 0; f < of.size(); ++f) {
      if (of[f].cls != cls_ || !of[f].splittable) continue;
      if (best < 0 || (of[f].kind == FactorKind::parallel &&
                       of[static_cast<std::size_t>(best)].kind == FactorKind::reduced)) {
        best = static_cast<int>(f);
      }
    }
    const std::size_t other = 1 - dir_;
    const std::int8_t taken = partition_.programs[program_].factor[p][other];
    if (best >= 0 && taken >= 0) {
      // One sum in one order: no second chain across the first.
      const bool both = of[static_cast<std::size_t>(best)].kind == FactorKind::reduced &&
                        of[static_cast<std::size_t>(taken)].kind == FactorKind::reduced;
      if (both || best == taken) return -1;
    }
    return best;
  }

  int dim_of(ValueId value) const {
    const Value& v = graph_.values[value];
    for (int d = 0; d < v.type.shape.rank(); ++d) {
      const bool other = partition_.programs[program_].produced[value][1 - dir_] == d;
      if (factors_.class_of(value, d) == cls_ && !other) return d;
    }
    return -1;
  }

  void number_vertices() {
    vertices_ = 2;
    op_vertex_.assign(program().order.size(), kWholeSide);
    factor_.assign(program().order.size(), -1);
    for (std::size_t p = 0; p < program().order.size(); ++p) {
      factor_[p] = factor_of(p);
      if (factor_[p] >= 0) op_vertex_[p] = vertices_++;
      const Node& node = graph_.nodes[program().order[p]];
      for (std::uint32_t r = 0; r < node.values; ++r) producer_[node.first_value + r] = op_vertex_[p];
    }
    for (ValueId source : program().sources) {
      const NodeKind kind = graph_.nodes[graph_.values[source].node].kind;
      const bool free = dim_of(source) >= 0 && kind != NodeKind::constant;
      producer_[source] = free ? vertices_++ : kWholeSide;
    }
  }

  void add_op_costs() {
    for (std::size_t p = 0; p < program().order.size(); ++p) {
      if (factor_[p] < 0) continue;
      const Node& node = graph_.nodes[program().order[p]];
      const Types out = graph_.result_types(node);
      const Cost cost = node.op.cost(graph_.input_types(node), out);
      const double whole = std::max(cost.flops / fabric_.flops, cost.bytes / fabric_.memory_rate);
      double pieces = whole / static_cast<double>(parts_);
      if (factors_.programs[program_].of(p)[static_cast<std::size_t>(factor_[p])].kind ==
          FactorKind::reduced) {
        double bytes = 0;
        for (const TensorType& type : out) bytes += static_cast<double>(bytes_of(type));
        pieces = whole + static_cast<double>(parts_) *
                             (2 * bytes / fabric_.link_rate + fabric_.hop);  // a chain waits
      }
      arcs_.push_back({kCutSide, op_vertex_[p], picoseconds(whole)});
      arcs_.push_back({op_vertex_[p], kWholeSide, picoseconds(pieces)});
    }
  }

  // A value that is produced in pieces is gathered once, if any reader needs it whole.
  void add_reads() {
    std::unordered_map<ValueId, std::uint32_t> gathered;
    for (std::size_t p = 0; p < program().order.size(); ++p) {
      const Node& node = graph_.nodes[program().order[p]];
      for (ValueId value : graph_.inputs_of(node)) {
        const std::uint32_t from = producer_[value];
        if (from == kWholeSide || dim_of(value) < 0 || op_vertex_[p] == from) continue;
        auto [known, added] = gathered.try_emplace(value, vertices_);
        if (added) {
          ++vertices_;
          const double bytes = static_cast<double>(bytes_of(graph_.values[value].type));
          arcs_.push_back({from, known->second, picoseconds(bytes / fabric_.link_rate + fabric_.hop)});
        }
        arcs_.push_back({known->second, op_vertex_[p], kNever});
      }
    }
  }

  void tie(std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    arcs_.push_back({a, b, kNever});
    arcs_.push_back({b, a, kNever});
  }

  // A variable lies as its new value does, and as earlier programs have it.
  void add_variables(const std::unordered_map<ValueId, bool>& variables) {
    for (const Program::Assignment& a : program().assignments) {
      if (producer_.contains(a.variable)) tie(producer_[a.variable], producer_[a.value]);
    }
    for (ValueId source : program().sources) {
      const auto known = variables.find(source);
      if (known == variables.end() || producer_[source] == kWholeSide) continue;
      tie(producer_[source], known->second ? kCutSide : kWholeSide);
    }
  }

  std::vector<bool> at_random(const std::unordered_map<ValueId, bool>& variables) {
    std::vector<bool> cut(vertices_);
    cut[kCutSide] = true;
    for (std::uint32_t v = 2; v < vertices_; ++v) cut[v] = mostly(random_, 2);
    for (const Program::Assignment& a : program().assignments) {
      if (!producer_.contains(a.variable) || producer_[a.variable] == kWholeSide) continue;
      const auto known = variables.find(a.variable);
      if (known != variables.end() && producer_[a.value] != kWholeSide)
        cut[producer_[a.value]] = known->second;
      cut[producer_[a.variable]] = cut[producer_[a.value]];
    }
    for (ValueId source : program().sources) {
      const auto known = variables.find(source);
      if (known != variables.end() && producer_[source] != kWholeSide) cut[producer_[source]] = known->second;
    }
    return cut;
  }

  void write(const std::vector<bool>& cut, std::unordered_map<ValueId, bool>& variables) {
    ProgramPartition& part = partition_.programs[program_];
    for (std::size_t p = 0; p < program().order.size(); ++p) {
      if (factor_[p] >= 0 && cut[op_vertex_[p]]) part.factor[p][dir_] = static_cast<std::int8_t>(factor_[p]);
    }
    for (ValueId source : program().sources) {
      const bool pieces = producer_[source] != kWholeSide && cut[producer_[source]];
      if (pieces) part.produced[source][dir_] = static_cast<std::int8_t>(dim_of(source));
      if (graph_.nodes[graph_.values[source].node].kind == NodeKind::variable) variables[source] = pieces;
    }
  }

  const Step& step_;
  const GraphData& graph_;
  const StepFactors& factors_;
  const Fabric& fabric_;
  std::uint32_t cls_;
  std::uint64_t& random_;
  Partition& partition_;
  Index parts_;
  std::size_t dir_;
  std::size_t program_ = 0;
  std::uint32_t vertices_ = 2;
  std::vector<std::uint32_t> op_vertex_;
  std::vector<int> factor_;
  std::unordered_map<ValueId, std::uint32_t> producer_;
  std::vector<algorithms::Arc> arcs_;
};

}  // namespace

void choose_feature_cuts(const Step& step, const StepFactors& factors, const Fabric& fabric,
                         std::uint32_t cls, std::uint64_t& random, Partition& partition) {
  std::unordered_map<ValueId, bool> variables;  // whether a variable lies in pieces
  // Steps that write variables decide how these lie; the others follow.
  for (const bool writes : {true, false}) {
    for (std::size_t i = 0; i < step.programs.size(); ++i) {
      if (step.programs[i].assignments.empty() == writes) continue;
      FeatureCut(step, factors, fabric, cls, random, partition).run(i, variables);
    }
  }
}

}  // namespace wafer::inline v0
