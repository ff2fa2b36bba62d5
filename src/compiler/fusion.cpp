// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/fusion.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

// An op may pass so many others on its way up to its head, whatever its results hold.
constexpr std::uint32_t kFewOps = 4;

bool contains(const std::vector<ValueId>& values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The operands of an op with the outermost factor of each dimension.
struct OperandFactors {
  ValueId value;
  const std::int8_t* outer;
};
std::vector<OperandFactors> operands_of(const Step& step, const StepFactors& factors, std::size_t program,
                                        std::uint32_t op) {
  const GraphData& graph = *step.graph;
  const Node& node = graph.nodes[step.programs[program].order[op]];
  std::vector<OperandFactors> out;
  const std::int8_t* at = factors.programs[program].outer.data() + factors.programs[program].first_outer[op];
  const auto add = [&](ValueId value) {
    out.push_back({value, at});
    at += graph.values[value].type.shape.rank();
  };
  for (ValueId value : graph.inputs_of(node)) add(value);
  for (std::uint32_t r = 0; r < node.values; ++r) add(node.first_value + r);
  return out;
}

// Heads and tails of one program.
class Fuser {
 public:
  Fuser(const Step& step, const StepFactors& factors, const Partition& partition,
        const Communication& communication, std::size_t program)
      : graph_(*step.graph),
        step_(step),
        factors_(factors),
        partition_(partition),
        communication_(communication),
        index_(program),
        program_(step.programs[program]) {
    const std::size_t ops = program_.order.size();
    for (std::uint32_t p = 0; p < ops; ++p) {
      head_.push_back(p);
      const Node& node = graph_.nodes[program_.order[p]];
      for (std::uint32_t r = 0; r < node.values; ++r) producer_[node.first_value + r] = p;
      for (ValueId value : graph_.inputs_of(node)) readers_[value].push_back(p);
      if (node.op.model().can_fail) fallible_end_ = p + 1;
    }
  }

  ProgramFusion run() {
    for (std::uint32_t p = 0; p < head_.size(); ++p) {
      if (head_[p] == p && can_be_head(p)) gather(p);
    }
    return ProgramFusion(std::move(head_));
  }

 private:
  const Node& node_of(std::uint32_t op) const { return graph_.nodes[program_.order[op]]; }

  // A product whose sums are complete when it has run once.
  bool can_be_head(std::uint32_t op) const {
    const Node& node = node_of(op);
    if (node.values != 1 || partition_.programs[index_].chain[op] >= 0) return false;
    if (program_.region[op] == Region::commit || node.op.model().can_fail) return false;
    const bool micro = program_.region[op] == Region::body && communication_.micro_batches_of(program_) > 1;
    bool sums = false;
    for (const OpFactor& factor : factors_.programs[index_].of(op)) {
      if (factor.kind != FactorKind::reduced) continue;
      sums = true;
      if (micro && factor.axis >= 0 && factor.axis == program_.batch_axis) return false;
    }
    return sums && graph_.values[node.first_value].type.shape.rank() >= 2;
  }

  void gather(std::uint32_t head) {
    std::vector<ValueId> shaped, grouped;  // values in the head's shape, and all of the group
    std::set<std::uint32_t> candidates;    // ops that read one of the former
    const auto add = [&](ValueId value) {
      shaped.push_back(value);
      const auto read = readers_.find(value);
      if (read != readers_.end()) candidates.insert(read->second.begin(), read->second.end());
    };
    grouped.push_back(node_of(head).first_value);
    add(grouped.front());
    std::uint32_t next = head + 1;  // the first op that is not known to be in the group
    while (!candidates.empty()) {
      const std::uint32_t op = *candidates.begin();
      candidates.erase(candidates.begin());
      if (head_[op] != op || op == head || !ready(head, op, grouped)) continue;
      if (!(program_.region[op] == Region::commit ? may_commit(head, op) : may_follow(head, op, op == next)))
        continue;
      const std::vector<std::int8_t> in_head = factors_in_head(step_, factors_, index_, head, op, shaped);
      if (in_head.empty()) continue;
      head_[op] = head;
      const Node& node = node_of(op);
      for (std::uint32_t r = 0; r < node.values; ++r) grouped.push_back(node.first_value + r);
      for (ValueId v : results_in_shape(step_, factors_, index_, head, op, in_head)) add(v);
      while (next < head_.size() && head_[next] == head) ++next;
    }
  }

  // Everything that the op reads is there when the head runs, or comes from the group itself.
  bool ready(std::uint32_t head, std::uint32_t op, const std::vector<ValueId>& grouped) const {
    for (ValueId value : graph_.inputs_of(node_of(op))) {
      const auto made = producer_.find(value);
      if (made == producer_.end() || contains(grouped, value)) continue;
      // A tail runs when its head does.
      if (head_[made->second] >= head) return false;
    }
    return true;
  }

  // An op of the same region that moves up to the head must not hold large results for long: it passes the
  // gradients of one layer at most.
  bool may_follow(std::uint32_t head, std::uint32_t op, bool next) const {
    const Node& node = node_of(op);
    if (node.op.model().can_fail || program_.region[op] != program_.region[head]) return false;
    Index bytes = 0;
    for (const TensorType& type : graph_.result_types(node)) bytes += bytes_of(type);
    const bool small = 8 * bytes <= bytes_of(graph_.values[node_of(head).first_value].type);
    return next || small || op - head <= kFewOps;
  }

  // An update moves up from the commit where nothing can fail from its head on, and nothing reads the old
  // values any more.
  bool may_commit(std::uint32_t head, std::uint32_t op) const {
    const bool once =
        program_.region[head] == Region::epilogue || communication_.micro_batches_of(program_) == 1;
    if (!once || head < fallible_end_) return false;
    const Node& node = node_of(op);
    for (const Program::Assignment& a : program_.assignments) {
      if (a.value < node.first_value || a.value >= node.first_value + node.values) continue;
      const auto read = readers_.find(a.variable);
      if (read != readers_.end()) {
        for (std::uint32_t reader : read->second) {
          if (reader != op && reader >= head) return false;
        }
      }
      for (const Program::Fetch& fetch : program_.fetches) {
        if (fetch.value == a.variable) return false;
      }
      for (const Program::Assignment& other : program_.assignments) {
        if (other.value == a.variable) return false;
      }
    }
    return true;
  }

  const GraphData& graph_;
  const Step& step_;
  const StepFactors& factors_;
  const Partition& partition_;
  const Communication& communication_;
  std::size_t index_;
  const Program& program_;
  std::vector<std::uint32_t> head_;  // of each op
  std::unordered_map<ValueId, std::uint32_t> producer_;
  std::unordered_map<ValueId, std::vector<std::uint32_t>> readers_;
  std::uint32_t fallible_end_ = 0;  // no op from here on can fail
};

}  // namespace

ProgramFusion::ProgramFusion(std::vector<std::uint32_t> heads) : head(std::move(heads)) {
  first_tail.resize(head.size() + 1);
  for (std::uint32_t op = 0; op < head.size(); ++op) {
    if (is_tail(op)) ++first_tail[head[op] + 1];
  }
  std::partial_sum(first_tail.begin(), first_tail.end(), first_tail.begin());
  std::vector<std::uint32_t> next = first_tail;
  tails.resize(first_tail.back());
  for (std::uint32_t op = 0; op < head.size(); ++op) {
    if (is_tail(op)) tails[next[head[op]]++] = op;
  }
}

std::vector<std::int8_t> factors_in_head(const Step& step, const StepFactors& factors, std::size_t program,
                                         std::uint32_t head, std::uint32_t tail,
                                         const std::vector<ValueId>& grouped) {
  const GraphData& graph = *step.graph;
  const ProgramFactors& of = factors.programs[program];
  const std::int8_t* const head_outer = operands_of(step, factors, program, head).back().outer;
  const Shape& shape = graph.values[graph.nodes[step.programs[program].order[head]].first_value].type.shape;
  std::vector<std::int8_t> in_head(of.of(tail).size(), -1);
  const std::vector<OperandFactors> operands = operands_of(step, factors, program, tail);
  for (const OperandFactors& operand : operands) {
    const Shape& own = graph.values[operand.value].type.shape;
    for (int d = 0; d < own.rank(); ++d) {
      const std::int8_t f = operand.outer[d];
      // A piece of one factor is a piece of each operand.
      if (f < 0 ? own[d] != 1 : own[d] != of.of(tail)[static_cast<std::size_t>(f)].extent) return {};
      if (f < 0 || !contains(grouped, operand.value)) continue;
      const std::int8_t to = head_outer[d];
      std::int8_t& known = in_head[static_cast<std::size_t>(f)];
      if (to < 0 || (known >= 0 && known != to)) return {};
      known = to;
    }
  }
  for (std::size_t f = 0; f < in_head.size(); ++f) {
    const OpFactor& factor = of.of(tail)[f];
    if (in_head[f] < 0 || !factor.splittable) return {};
    const OpFactor& outer = of.of(head)[static_cast<std::size_t>(in_head[f])];
    if (!outer.splittable || outer.kind != FactorKind::parallel || outer.extent != factor.extent) return {};
    if (outer.axis != factor.axis) return {};  // of one index at most, say, and none in a run
    // Two factors that follow one of the head would be its diagonal.
    if (std::count(in_head.begin(), in_head.end(), in_head[f]) != 1) return {};
    // Pieces come in ascending order of rows, so that sums over rows keep their order.
    const bool rows = shape.rank() == 2 && in_head[f] == head_outer[0];
    if (factor.kind != FactorKind::parallel && !(factor.kind == FactorKind::reduced && rows)) return {};
  }
  return in_head;
}

std::vector<ValueId> results_in_shape(const Step& step, const StepFactors& factors, std::size_t program,
                                      std::uint32_t head, std::uint32_t tail,
                                      const std::vector<std::int8_t>& in_head) {
  const GraphData& graph = *step.graph;
  const std::int8_t* const head_outer = operands_of(step, factors, program, head).back().outer;
  const Shape& shape = graph.values[graph.nodes[step.programs[program].order[head]].first_value].type.shape;
  const Node& node = graph.nodes[step.programs[program].order[tail]];
  std::vector<ValueId> out;
  const std::vector<OperandFactors> operands = operands_of(step, factors, program, tail);
  for (std::size_t k = node.inputs; k < operands.size(); ++k) {
    if (graph.values[operands[k].value].type.shape != shape) continue;
    bool same = true;
    for (int d = 0; d < shape.rank(); ++d) {
      const std::int8_t f = operands[k].outer[d];
      same = same && f >= 0 && in_head[static_cast<std::size_t>(f)] == head_outer[d];
    }
    if (same) out.push_back(operands[k].value);
  }
  return out;
}

Fusion fuse_tails(const Step& step, const StepFactors& factors, const Partition& partition,
                  const Communication& communication, const Fabric& fabric) {
  Fusion out;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    if (fabric.shared_memory && communication.programs[i].transfers.empty()) {
      out.programs.push_back(Fuser(step, factors, partition, communication, i).run());
      continue;
    }
    // On a mesh, what a block computes is moved before it is read.
    std::vector<std::uint32_t> own(step.programs[i].order.size());
    std::iota(own.begin(), own.end(), 0U);
    out.programs.emplace_back(std::move(own));
  }
  return out;
}

void Fusion::verify(const Step& step, const StepFactors& factors) const {
  const GraphData& graph = *step.graph;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Program& program = step.programs[i];
    std::vector<bool> known(graph.values.size());
    for (ValueId source : program.sources) known[source] = true;
    for (std::uint32_t head = 0; head < program.order.size(); ++head) {
      if (programs[i].is_tail(head)) continue;
      const auto tails = programs[i].tails_of(head);
      std::vector<std::uint32_t> ops{head};
      ops.insert(ops.end(), tails.begin(), tails.end());
      std::vector<ValueId> shaped;
      for (std::uint32_t op : ops) {
        const Node& node = graph.nodes[program.order[op]];
        for (ValueId value : graph.inputs_of(node)) {
          if (!known[value])
            throw InternalError(graph.where(program.order[op]) + " runs before what it reads");
        }
        for (std::uint32_t r = 0; r < node.values; ++r) known[node.first_value + r] = true;
        if (op == head) {
          shaped.push_back(node.first_value);
          continue;
        }
        const std::vector<std::int8_t> in_head = factors_in_head(step, factors, i, head, op, shaped);
        if (in_head.empty())
          throw InternalError(graph.where(program.order[op]) + " cannot run piece by piece after " +
                              graph.where(program.order[head]));
        for (ValueId v : results_in_shape(step, factors, i, head, op, in_head)) shaped.push_back(v);
      }
    }
  }
}

std::string Fusion::dump(const Step& step) const {
  std::string out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out += "step '" + step.programs[i].name + "'\n";
    for (std::uint32_t head = 0; head < programs[i].head.size(); ++head) {
      const auto tails = programs[i].tails_of(head);
      if (tails.empty()) continue;
      out += "  " + step.graph->where(step.programs[i].order[head]);
      for (std::uint32_t tail : tails) out += " + " + step.graph->where(step.programs[i].order[tail]);
      out += "\n";
    }
  }
  return out;
}

}  // namespace wafer::inline v0
