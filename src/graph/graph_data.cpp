// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/graph/graph_data.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

// The named axis that a factor follows: none yet, none at all, or one with an inner multiple.
struct FactorAxis {
  int axis = -1;
  bool known = false;
};

std::string axis_text(const GraphData& graph, int axis, Index extent) {
  if (axis < 0) return "a plain dimension of " + std::to_string(extent);
  return "axis '" + graph.axes[static_cast<std::size_t>(axis)].name + "'";
}

// Follows named axes through an op: a factor takes the axis of the input dimensions it stands outermost in,
// and gives it to the result dimensions it stands outermost in.
class AxisFlow {
 public:
  AxisFlow(const GraphData& graph, const AxesRule& rule)
      : graph_(graph), rule_(rule), axis_(rule.factors().size()) {}

  void take(std::size_t input, const Value& value) {
    for (int d = 0; d < value.type.shape.rank(); ++d) {
      const AxesRule::Dim& dim = rule_.inputs()[input][static_cast<std::size_t>(d)];
      const int axis = value.axes[static_cast<std::size_t>(d)];
      if (dim.empty()) {
        if (axis >= 0) fail(input, d, "a dimension of extent 1 to broadcast", axis, value.type.shape[d]);
        continue;
      }
      set(dim[0], axis, input, d);
      for (std::size_t f = 1; f < dim.size(); ++f) set(dim[f], -1, input, d);
    }
  }

  AxisTags give(std::size_t result) const {
    AxisTags tags = kNoAxes;
    const AxesRule::Dims& dims = rule_.results()[result];
    for (std::size_t d = 0; d < dims.size(); ++d) {
      for (std::size_t f = 0; f < dims[d].size(); ++f) {
        const int axis = axis_[static_cast<std::size_t>(dims[d][f])].axis;
        if (axis >= 0 && f > 0) {
          throw UserError("expected " + axis_text(graph_, axis, 0) + " outermost in dimension " +
                          std::to_string(d) + " of the result, since its run-time extent varies; got " +
                          rule_.text());
        }
        if (f == 0) tags[d] = static_cast<std::int16_t>(axis);
      }
    }
    return tags;
  }

 private:
  void set(int factor, int axis, std::size_t input, int dim) {
    FactorAxis& known = axis_[static_cast<std::size_t>(factor)];
    const Factor& of = rule_.factors()[static_cast<std::size_t>(factor)];
    const Index extent = of.extent;
    if (axis >= 0) {
      const Index greatest = graph_.axes[static_cast<std::size_t>(axis)].extent;
      if (extent % greatest != 0) fail(input, dim, "a multiple of the axis in one part", axis, extent);
    }
    // Where an axis is of one index at most, a plain dimension of 1 is broadcast along it.
    const bool broadcast = extent == 1 && of.kind == FactorKind::parallel && (axis < 0 || known.axis < 0);
    if (known.known && known.axis != axis && !broadcast) {
      fail(input, dim, axis_text(graph_, known.axis, extent) + " as in another operand", axis, extent);
    }
    known = {std::max(axis, known.axis), true};
  }

  [[noreturn]] void fail(std::size_t input, int dim, const std::string& expected, int axis,
                         Index extent) const {
    throw UserError("dimension " + std::to_string(dim) + " of input " + std::to_string(input) +
                    ": expected " + expected + ", got " + axis_text(graph_, axis, extent));
  }

  const GraphData& graph_;
  const AxesRule& rule_;
  std::vector<FactorAxis> axis_;
};

}  // namespace

Types GraphData::input_types(const Node& node) const {
  Types types;
  types.reserve(node.inputs);
  for (ValueId value : inputs_of(node)) types.push_back(values[value].type);
  return types;
}

Types GraphData::result_types(const Node& node) const {
  Types types;
  types.reserve(node.values);
  for (std::uint32_t r = 0; r < node.values; ++r) types.push_back(values[node.first_value + r].type);
  return types;
}

std::string GraphData::where(NodeId id) const {
  const Node& node = nodes[id];
  switch (node.kind) {
    case NodeKind::input: return "input '" + feeds[node.source].name + "'";
    case NodeKind::variable: return "parameter '" + variables[node.source].path + "'";
    case NodeKind::constant: return "constant";
    case NodeKind::op: break;
  }
  const std::string& path = scopes[node.scope].path;
  return "op '" + std::string(node.op.name()) + "'" + (path.empty() ? "" : " at '" + path + "'");
}

std::string GraphData::text_of(ValueId value) const {
  return wafer::text_of(values[value].type) + " of " + where(values[value].node);
}

std::string GraphData::here(std::string_view who) const {
  const std::string& path = scopes[scope].path;
  return std::string(who) + (path.empty() ? "" : " at '" + path + "'");
}

int GraphData::dim_of(ValueId value, int dim, std::string_view who) const {
  const int rank = values[value].type.shape.rank();
  if (dim >= -rank && dim < rank) return dim < 0 ? dim + rank : dim;
  throw UserError(here(who) + ": expected " +
                  (rank == 0
                       ? "a tensor with dimensions"
                       : "a dimension from " + std::to_string(-rank) + " to " + std::to_string(rank - 1)) +
                  ", got " + std::to_string(dim) + " of " + text_of(value));
}

bool GraphData::has(const Axis& axis) const {
  if (axis.id < 0 || static_cast<std::size_t>(axis.id) >= axes.size()) return false;
  const Axis& own = axes[static_cast<std::size_t>(axis.id)];
  return own.name == axis.name && own.extent == axis.extent;
}

ValueId GraphData::add_source(NodeKind kind, std::uint32_t source, TensorType type, AxisTags tags) {
  Node node;
  node.kind = kind;
  node.first_input = static_cast<std::uint32_t>(inputs.size());
  node.first_value = static_cast<ValueId>(values.size());
  node.values = 1;
  node.scope = scope;
  node.source = source;
  values.push_back({type, tags, static_cast<NodeId>(nodes.size()), kNone, kNone});
  nodes.push_back(std::move(node));
  return nodes.back().first_value;
}

NodeId GraphData::add_op(OpHandle op, std::span<const ValueId> operands) {
  const auto named = [&](const std::exception& error) {
    return here("op '" + std::string(op.name()) + "'") + ": " + error.what();
  };
  Types in, out;
  std::vector<AxisTags> tags;
  try {
    for (ValueId value : operands) in.push_back(values[value].type);
    out = op.infer(in);
    const AxesRule rule = op.axes(in);
    rule.check(in, out);
    AxisFlow flow(*this, rule);
    for (std::size_t i = 0; i < operands.size(); ++i) flow.take(i, values[operands[i]]);
    for (std::size_t r = 0; r < out.size(); ++r) tags.push_back(flow.give(r));
    for (const TensorType& type : out) {
      if (size_of(type.dtype) == 0)
        throw UserError("expected results of f32, f64, i32 or bool, got " + wafer::text_of(out));
      bytes_of(type);
    }
  } catch (const UserError& error) {
    throw UserError(named(error));
  }
  const auto id = static_cast<NodeId>(nodes.size());
  Node node;
  node.op = std::move(op);
  node.first_input = static_cast<std::uint32_t>(inputs.size());
  node.inputs = static_cast<std::uint32_t>(operands.size());
  node.first_value = static_cast<ValueId>(values.size());
  node.values = static_cast<std::uint32_t>(out.size());
  node.scope = scope;
  for (ValueId value : operands) {
    const auto slot = static_cast<std::uint32_t>(inputs.size());
    inputs.push_back(value);
    input_node.push_back(id);
    next_use.push_back(kNone);
    Value& used = values[value];
    (used.first_use == kNone ? used.first_use : next_use[used.last_use]) = slot;
    used.last_use = slot;
  }
  for (std::size_t r = 0; r < out.size(); ++r) values.push_back({out[r], tags[r], id, kNone, kNone});
  nodes.push_back(std::move(node));
  return id;
}

}  // namespace wafer::inline v0
