// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph_algorithms.hpp"

#include <wafer/compiler/factors.hpp>

#include <algorithm>
#include <numeric>

namespace wafer::inline v0 {

namespace {

// The rule of one op, read into flat tables.
class RuleReader {
 public:
  RuleReader(const GraphData& graph, ProgramFactors& out) : graph_(graph), out_(out) {}

  void read(const Node& node) {
    const AxesRule rule = node.op.axes(graph_.input_types(node));
    const std::size_t first = out_.factors.size();
    bool summed = false;  // only the outermost sum may be cut
    for (const Factor& factor : rule.factors()) {
      const bool outermost_sum = factor.kind == FactorKind::reduced && !summed;
      summed = summed || factor.kind == FactorKind::reduced;
      out_.factors.push_back({factor.extent, factor.unit, factor.kind, -1,
                              factor.kind == FactorKind::parallel || outermost_sum, kNone});
    }
    for (std::size_t i = 0; i < node.inputs; ++i) {
      read_operand(rule.inputs()[i], graph_.values[graph_.inputs[node.first_input + i]], first);
    }
    std::vector<bool> in_result(rule.factors().size(), true);
    for (std::uint32_t r = 0; r < node.values; ++r) {
      const AxesRule::Dims& dims = rule.results()[r];
      read_operand(dims, graph_.values[node.first_value + r], first);
      for (std::size_t f = 0; f < in_result.size(); ++f) {
        const bool here = std::any_of(dims.begin(), dims.end(), [&](const AxesRule::Dim& dim) {
          return std::find(dim.begin(), dim.end(), static_cast<int>(f)) != dim.end();
        });
        in_result[f] = in_result[f] && here;
      }
    }
    for (std::size_t f = 0; f < in_result.size(); ++f) {
      OpFactor& factor = out_.factors[first + f];
      if (factor.kind == FactorKind::parallel && !in_result[f]) factor.splittable = false;
    }
  }

 private:
  void read_operand(const AxesRule::Dims& dims, const Value& value, std::size_t first) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      out_.outer.push_back(dims[d].empty() ? std::int8_t{-1} : static_cast<std::int8_t>(dims[d][0]));
      for (std::size_t f = 0; f < dims[d].size(); ++f) {
        OpFactor& factor = out_.factors[first + static_cast<std::size_t>(dims[d][f])];
        if (f == 0 && value.axes[d] >= 0) factor.axis = value.axes[d];
        if (f > 0) factor.splittable = false;
      }
    }
  }

  const GraphData& graph_;
  ProgramFactors& out_;
};

// Calls f(value, dim, factor) for each dimension of each operand whose outermost factor is known.
template <class F>
void for_each_dim(const GraphData& graph, const ProgramFactors& factors, const Node& node, std::size_t op,
                  F&& f) {
  std::uint32_t at = factors.first_outer[op];
  const auto operand = [&](ValueId value) {
    for (int d = 0; d < graph.values[value].type.shape.rank(); ++d, ++at) {
      if (factors.outer[at] >= 0)
        f(value, d, factors.first_factor[op] + static_cast<std::uint32_t>(factors.outer[at]));
    }
  };
  for (ValueId value : graph.inputs_of(node)) operand(value);
  for (std::uint32_t r = 0; r < node.values; ++r) operand(node.first_value + r);
}

void find_classes(const Step& step, StepFactors& out) {
  const GraphData& graph = *step.graph;
  out.first_dim.resize(graph.values.size());
  std::uint32_t dims = 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    out.first_dim[v] = dims;
    dims += static_cast<std::uint32_t>(graph.values[v].type.shape.rank());
  }
  // Vertices: dimensions of values. A factor joins all dimensions that it stands outermost in.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    const ProgramFactors& factors = out.programs[i];
    for (std::size_t p = 0; p < step.programs[i].order.size(); ++p) {
      const Node& node = graph.nodes[step.programs[i].order[p]];
      std::vector<std::uint32_t> joined(factors.of(p).size(), kNone);
      for_each_dim(graph, factors, node, p, [&](ValueId value, int dim, std::uint32_t factor) {
        std::uint32_t& known = joined[factor - factors.first_factor[p]];
        const std::uint32_t vertex = out.first_dim[value] + static_cast<std::uint32_t>(dim);
        if (known != kNone) edges.emplace_back(known, vertex);
        known = vertex;
      });
    }
  }
  out.dim_class = algorithms::components(dims, edges);
  const std::uint32_t classes =
      dims == 0 ? 0 : 1 + *std::max_element(out.dim_class.begin(), out.dim_class.end());
  out.classes.resize(classes);
  for (std::size_t v = graph.values.size(); v-- > 0;) {
    const Shape& shape = graph.values[v].type.shape;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      FactorClass& cls = out.classes[out.class_of(static_cast<ValueId>(v), d)];
      const int axis = graph.values[v].axes[static_cast<std::size_t>(d)];
      const bool single = axis < 0 || graph.axes[static_cast<std::size_t>(axis)].extent == shape[d];
      cls.uniform = cls.uniform && single && (cls.value == kNone || cls.extent == shape[d]);
      cls.extent = shape[d];
      cls.value = static_cast<ValueId>(v);
      cls.dim = d;
    }
  }
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    ProgramFactors& factors = out.programs[i];
    for (std::size_t p = 0; p < step.programs[i].order.size(); ++p) {
      const Node& node = graph.nodes[step.programs[i].order[p]];
      const double flops = node.op.cost(graph.input_types(node), graph.result_types(node)).flops;
      for_each_dim(graph, factors, node, p, [&](ValueId value, int dim, std::uint32_t factor) {
        factors.factors[factor].cls = out.class_of(value, dim);
      });
      for (const OpFactor& factor : factors.of(p)) {
        if (factor.cls == kNone) continue;
        FactorClass& cls = out.classes[factor.cls];
        cls.uniform = cls.uniform && cls.extent == factor.extent;
        cls.unit = std::lcm(cls.unit, factor.unit);
        if (factor.splittable) cls.flops += flops;
      }
    }
  }
}

}  // namespace

StepFactors analyse_factors(const Step& step, bool with_classes) {
  StepFactors out;
  for (const Program& program : step.programs) {
    ProgramFactors& factors = out.programs.emplace_back();
    RuleReader reader(*step.graph, factors);
    for (NodeId id : program.order) {
      factors.first_factor.push_back(static_cast<std::uint32_t>(factors.factors.size()));
      factors.first_outer.push_back(static_cast<std::uint32_t>(factors.outer.size()));
      reader.read(step.graph->nodes[id]);
    }
    factors.first_factor.push_back(static_cast<std::uint32_t>(factors.factors.size()));
    factors.first_outer.push_back(static_cast<std::uint32_t>(factors.outer.size()));
  }
  if (with_classes) find_classes(step, out);
  return out;
}

}  // namespace wafer::inline v0
