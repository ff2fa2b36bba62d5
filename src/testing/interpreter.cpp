// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/testing/interpreter.hpp>

#include "core/initialize.hpp"
#include "kernels/table.hpp"

#include <cstring>
#include <string>

namespace wafer::inline v0::testing {

namespace {

KernelTarget settled(KernelTarget target) {
  if (target == KernelTarget::automatic) return kernels::best_target();
  kernels::table(target);  // throws where the CPU lacks it
  return target;
}

}  // namespace

void run_op(const OpHandle& op, const Types& in, Context context, bool reference, Tiles inputs,
            Tiles results) {
  context.target = settled(context.target);
  const Kernels kernels = reference ? Kernels{} : op.kernels(in);
  if (kernels.empty()) return op.model().run(op.get(), context, inputs, results);
  const Array scratch({DType::boolean, Shape{kernels[0].scratch_bytes}});
  context.scratch = scratch.tile().data;
  context.scratch_bytes = kernels[0].scratch_bytes;
  kernels[0].run(op.get(), context, inputs, results);
}

Interpreter::Interpreter(Graph graph, InterpreterOptions options)
    : graph_(std::move(graph)), options_(options) {
  options_.target = settled(options_.target);
}

void Interpreter::set_extent(const Axis& axis, Index extent) {
  const Index greatest = graph_.data()->axes.at(static_cast<std::size_t>(axis.id)).extent;
  if (extent < 0 || extent > greatest) {
    throw UserError("axis '" + axis.name + "': expected an extent in [0, " + std::to_string(greatest) +
                    "], got " + std::to_string(extent));
  }
  extents_.resize(graph_.data()->axes.size(), -1);
  extents_[static_cast<std::size_t>(axis.id)] = extent;
  computed_.clear();
}

Index Interpreter::extent_of(int axis) const {
  const auto i = static_cast<std::size_t>(axis);
  return i < extents_.size() && extents_[i] >= 0 ? extents_[i] : graph_.data()->axes[i].extent;
}

TensorType Interpreter::type_of(const Tensor& tensor) const { return type_of(tensor.value()); }

TensorType Interpreter::type_of(ValueId id) const {
  const Value& value = graph_.data()->values[id];
  TensorType type = value.type;
  for (int d = 0; d < type.shape.rank(); ++d) {
    const int axis = value.axes[static_cast<std::size_t>(d)];
    if (axis < 0) continue;
    const Index multiple = type.shape[d] / graph_.data()->axes[static_cast<std::size_t>(axis)].extent;
    type.shape = type.shape.with(d, extent_of(axis) * multiple);
  }
  return type;
}

void Interpreter::set(const Tensor& tensor, Array value) {
  const TensorType expected = type_of(tensor);
  if (value.type() != expected) {
    throw UserError("interpreter: expected " + text_of(expected) + " for " +
                    graph_.data()->where(graph_.data()->values[tensor.value()].node) + ", got " +
                    text_of(value.type()));
  }
  given_.insert_or_assign(tensor.value(), std::move(value));
  computed_.clear();
}

const Array& Interpreter::value(const Tensor& tensor) {
  if (!known(tensor.value())) compute(tensor.value());
  const auto given = given_.find(tensor.value());
  return given != given_.end() ? given->second : computed_.at(tensor.value());
}

std::vector<Array> Interpreter::values(std::span<const Tensor> tensors) {
  std::vector<Array> out;
  for (const Tensor& tensor : tensors) out.push_back(value(tensor));
  return out;
}

// Operands are created before the ops that read them, so a sweep back marks what is needed and one forth runs
// it.
void Interpreter::compute(ValueId wanted) {
  const GraphData& data = *graph_.data();
  std::vector<bool> needed(data.values[wanted].node + std::size_t{1});
  needed.back() = true;
  for (std::size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (ValueId value : data.inputs_of(data.nodes[id])) {
      if (!known(value)) needed[data.values[value].node] = true;
    }
  }
  for (std::size_t id = 0; id < needed.size(); ++id) {
    if (!needed[id]) continue;
    const Node& node = data.nodes[id];
    if (node.kind == NodeKind::op) {
      run_op(static_cast<NodeId>(id));
    } else {
      run_source(node);
    }
  }
}

void Interpreter::run_source(const Node& node) {
  const GraphData& data = *graph_.data();
  Array array(type_of(node.first_value));
  switch (node.kind) {
    case NodeKind::constant: {
      const std::vector<std::byte>& bytes = data.constants[node.source].bytes;
      if (!bytes.empty()) std::memcpy(array.bytes().data(), bytes.data(), bytes.size());
      break;
    }
    case NodeKind::variable: {
      const VariableInfo& variable = data.variables[node.source];
      initialize(variable.init, variable.path, options_.seed, 0, array.values<float>());
      break;
    }
    default: throw RunError("input '" + data.feeds[node.source].name + "': expected values, got none");
  }
  computed_.insert_or_assign(node.first_value, std::move(array));
}

void Interpreter::run_op(NodeId id) {
  const GraphData& data = *graph_.data();
  const Node& node = data.nodes[id];
  std::vector<Index> axes;
  for (const Axis& axis : data.axes) axes.push_back(extent_of(axis.id));
  const std::string where = data.where(id);
  Context context;
  context.where = where;
  context.seed = options_.seed;
  context.step = options_.step;
  context.target = options_.target;
  context.axes = axes;
  std::vector<Tile> in, out;
  for (ValueId value : data.inputs_of(node)) {
    const auto given = given_.find(value);
    in.push_back((given != given_.end() ? given->second : computed_.at(value)).tile());
  }
  for (std::uint32_t r = 0; r < node.values; ++r) {
    const auto at =
        computed_.insert_or_assign(node.first_value + r, Array(type_of(node.first_value + r))).first;
    out.push_back(at->second.tile());
  }
  testing::run_op(node.op, data.input_types(node), context, options_.reference, in, out);
}

}  // namespace wafer::inline v0::testing
