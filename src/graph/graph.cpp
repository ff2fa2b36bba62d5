// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>

#include <algorithm>
#include <cstring>

namespace wafer::inline v0 {

namespace {

GraphData& data_of(const Tensor& tensor, const char* who) {
  if (!tensor) throw UserError(std::string(who) + ": expected a tensor, got an empty handle");
  return *tensor.data();
}

const Value& value_of(const Tensor& tensor) { return data_of(tensor, "tensor").values[tensor.value()]; }

template <class T>
std::vector<std::byte> bytes_from(std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Tensor add_constant(const std::shared_ptr<GraphData>& data, TensorType type, std::vector<std::byte> bytes) {
  data->constants.push_back({std::move(bytes)});
  const auto source = static_cast<std::uint32_t>(data->constants.size() - 1);
  return Tensor(data, data->add_source(NodeKind::constant, source, type, kNoAxes));
}

template <class T>
Tensor dense_constant(const std::shared_ptr<GraphData>& data, std::span<const T> values, const Shape& shape) {
  if (static_cast<Index>(values.size()) != shape.size()) {
    throw UserError("constant: expected " + std::to_string(shape.size()) + " elements for shape " +
                    shape.text() + ", got " + std::to_string(values.size()));
  }
  return add_constant(data, {dtype_of<T>, shape}, bytes_from(values));
}

}  // namespace

TensorType Tensor::type() const { return value_of(*this).type; }

Index Tensor::dim(int dim) const {
  const Shape& shape = value_of(*this).type.shape;
  return shape[graph_->dim_of(value_, dim, "dim")];
}

Tensor Tensor::split(int dim, Mesh direction) const {
  GraphData& data = data_of(*this, "split");
  if (direction != Mesh::rows && direction != Mesh::columns) {
    throw UserError("split: expected Mesh::rows or Mesh::columns, got the number " +
                    std::to_string(static_cast<int>(direction)));
  }
  data.splits.push_back({value_, data.dim_of(value_, dim, "split"), direction});
  return *this;
}

Tensor Tensor::split(const Axis& axis, Mesh direction) const {
  const AxisTags& tags = value_of(*this).axes;
  const auto at = std::find(tags.begin(), tags.end(), static_cast<std::int16_t>(axis.id));
  if (!graph_->has(axis) || at == tags.end()) {
    throw UserError(graph_->here("split") + ": expected an axis of " + graph_->text_of(value_) + ", got '" +
                    axis.name + "'");
  }
  return split(static_cast<int>(at - tags.begin()), direction);
}

Tensor Tensor::without_decay() const {
  GraphData& data = data_of(*this, "without_decay");
  const NodeId id = data.values[value_].node;
  const Node& node = data.nodes[id];
  if (node.kind != NodeKind::variable || !data.variables[node.source].trained) {
    throw UserError("without_decay: expected a parameter, got " + data.where(id));
  }
  data.variables[node.source].decays = false;
  return *this;
}

Graph Tensor::graph() const {
  data_of(*this, "graph");
  return Graph(graph_);
}

Graph::Graph() : data_(std::make_shared<GraphData>()) {}

Axis Graph::axis(std::string name, Index greatest_extent) const {
  if (name.empty()) throw UserError("axis: expected a name, got none");
  for (const Axis& axis : data_->axes) {
    if (axis.name == name) throw UserError("axis '" + name + "': expected a new name, got one that is there");
  }
  if (greatest_extent < 1) {
    throw UserError("axis '" + name + "': expected a greatest extent >= 1, got " +
                    std::to_string(greatest_extent));
  }
  if (data_->axes.size() >= 32767) throw UserError("axis '" + name + "': expected at most 32767 axes");
  data_->axes.push_back({std::move(name), greatest_extent, static_cast<int>(data_->axes.size())});
  return data_->axes.back();
}

Tensor Graph::input(std::string name, std::initializer_list<Extent> shape, DType dtype) const {
  if (name.empty()) throw UserError("input: expected a name, got none");
  for (const FeedInfo& feed : data_->feeds) {
    if (feed.name == name)
      throw UserError("input '" + name + "': expected a new name, got one that is there");
  }
  if (dtype != DType::f32 && dtype != DType::i32) {
    throw UserError("input '" + name + "': expected f32 or i32, got " + std::string(name_of(dtype)));
  }
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw UserError("input '" + name + "': expected at most " + std::to_string(kMaxRank) +
                    " dimensions, got " + std::to_string(shape.size()));
  }
  std::vector<Index> extents;
  AxisTags tags = kNoAxes;
  for (const Extent& extent : shape) {
    if (extent.named && !data_->has(extent.axis)) {
      throw UserError("input '" + name + "': expected an axis of this graph, got '" + extent.axis.name +
                      "', which is none");
    }
    tags[extents.size()] = static_cast<std::int16_t>(extent.named ? extent.axis.id : -1);
    extents.push_back(extent.extent);
  }
  const TensorType type{dtype, Shape(extents)};
  bytes_of(type);
  data_->feeds.push_back({std::move(name), static_cast<ValueId>(data_->values.size())});
  const auto source = static_cast<std::uint32_t>(data_->feeds.size() - 1);
  return Tensor(data_, data_->add_source(NodeKind::input, source, type, tags));
}

Tensor Graph::constant(double value, DType dtype) const {
  const auto scalar = [&](auto typed) {
    std::vector<std::byte> bytes(sizeof typed);
    std::memcpy(bytes.data(), &typed, sizeof typed);
    return add_constant(data_, {dtype, Shape{}}, std::move(bytes));
  };
  switch (dtype) {
    case DType::f32: return scalar(static_cast<float>(value));
    case DType::f64: return scalar(value);
    case DType::boolean: return scalar(value != 0);
    case DType::i32: break;
    default:
      throw UserError("constant: expected f32, f64, i32 or bool, got the number " +
                      std::to_string(static_cast<int>(dtype)));
  }
  if (!(value >= -2147483648.0 && value <= 2147483647.0)) {
    throw UserError("constant: expected a value that i32 holds, got " + std::to_string(value));
  }
  return scalar(static_cast<std::int32_t>(value));
}

Tensor Graph::constant(std::span<const float> values, const Shape& shape) const {
  return dense_constant(data_, values, shape);
}
Tensor Graph::constant(std::span<const std::int32_t> values, const Shape& shape) const {
  return dense_constant(data_, values, shape);
}

namespace {

Tensors apply_to(const std::shared_ptr<GraphData>& data, const OpHandle& op,
                 std::span<const ValueId> operands) {
  const NodeId id = data->add_op(op, operands);
  const Node& node = data->nodes[id];
  Tensors results;
  for (std::uint32_t r = 0; r < node.values; ++r) results.emplace_back(data, node.first_value + r);
  return results;
}

}  // namespace

Tensors apply_handle(const OpHandle& op, std::span<const Tensor> inputs) {
  const std::string where = "op '" + std::string(op.name()) + "'";
  if (inputs.empty())
    throw UserError(where + ": expected inputs, got none (an op without any takes a graph)");
  std::vector<ValueId> operands;
  for (const Tensor& input : inputs) {
    if (!input) throw UserError(where + ": expected tensors, got an empty handle");
    if (input.data() != inputs[0].data())
      throw UserError(where + ": expected inputs of one graph, got two graphs");
    operands.push_back(input.value());
  }
  return apply_to(inputs[0].data(), op, operands);
}

Tensors apply_handle(const OpHandle& op, const Graph& graph) { return apply_to(graph.data(), op, {}); }

Tensor parameter(const Graph& graph, const std::string& name, const Shape& shape, Init init) {
  GraphData& data = *graph.data();
  const Scope& scope = data.scopes[data.scope];
  const std::string path = scope.path.empty() ? name : scope.path + "." + name;
  if (name.empty()) throw UserError(data.here("parameter") + ": expected a name, got none");
  const auto known = std::find_if(data.variables.begin(), data.variables.end(),
                                  [&](const VariableInfo& variable) { return variable.path == path; });
  if (scope.reuse) {
    if (known == data.variables.end()) {
      throw UserError("parameter '" + path + "': expected one to reuse, got none of this path");
    }
    const Shape& there = data.values[known->value].type.shape;
    if (there != shape) {
      throw UserError("parameter '" + path + "': expected shape " + there.text() + " to reuse, got " +
                      shape.text());
    }
    return Tensor(graph.data(), known->value);
  }
  if (known != data.variables.end()) {
    throw UserError("parameter '" + path + "': expected a new path, got one that is there (see reuse)");
  }
  bytes_of({DType::f32, shape});
  check_init(path, init);
  data.variables.push_back({path, static_cast<ValueId>(data.values.size()), init, true});
  const auto source = static_cast<std::uint32_t>(data.variables.size() - 1);
  return Tensor(graph.data(), data.add_source(NodeKind::variable, source, {DType::f32, shape}, kNoAxes));
}

ScopeGuard::ScopeGuard(const Graph& graph, const std::string& name, bool reuse)
    : data_(graph.data()), before_(data_->scope) {
  const Scope& outer = data_->scopes[before_];
  if (name.empty()) throw UserError(data_->here("scope") + ": expected a name, got none");
  std::string path = outer.path.empty() ? name : outer.path + "." + name;
  const bool again = outer.reuse || reuse;
  data_->scopes.push_back({std::move(path), again});
  data_->scope = static_cast<std::uint32_t>(data_->scopes.size() - 1);
}
ScopeGuard::~ScopeGuard() { data_->scope = before_; }

}  // namespace wafer::inline v0
