// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph_data.hpp>
#include <wafer/graph/op.hpp>
#include <wafer/graph/tensor.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// One extent of an input: a number, or a named axis.
struct Extent {
  template <class T>
  requires std::is_integral_v<T> Extent(T value) : extent(static_cast<Index>(value)) {}  // implicit: {b, 784}
  Extent(Axis of) : extent(of.extent), named(true), axis(std::move(of)) {}
  Index extent = 0;
  bool named = false;
  Axis axis;  ///< where named
};

/// What is computed. A graph and its tensors share one state; copies are the same graph, and so is what was
/// moved from.
/// One thread at a time may extend a graph.
class Graph {
 public:
  Graph();
  explicit Graph(std::shared_ptr<GraphData> data) : data_(std::move(data)) {}
  Graph(const Graph&) = default;  // and no moves
  Graph& operator=(const Graph&) = default;

  /// A named axis with its greatest extent (>= 1). Throws UserError where the name is empty or taken.
  Axis axis(std::string name, Index greatest_extent) const;
  /// Something to be fed, f32 or i32. Throws UserError where the name is empty or taken, the dtype is
  /// another, or an axis is not of this graph.
  Tensor input(std::string name, std::initializer_list<Extent> shape, DType dtype = DType::f32) const;
  /// A scalar; it is rounded to the dtype. Throws UserError where an i32 cannot hold it.
  Tensor constant(double value, DType dtype = DType::f32) const;
  /// A dense tensor, copied. Throws UserError where the number of elements is not the shape's.
  Tensor constant(std::span<const float> values, const Shape& shape) const;
  Tensor constant(std::span<const std::int32_t> values, const Shape& shape) const;

  /// The layer path in which ops and parameters are made now.
  std::string scope() const { return data_->scopes[data_->scope].path; }

  const std::shared_ptr<GraphData>& data() const { return data_; }

 private:
  std::shared_ptr<GraphData> data_;
};

/// Applies an op to inputs of one graph. Throws UserError naming op, layer path, what was expected and what
/// came. (A name of its own: an unqualified `apply` of a handle and a span would also find std::apply.)
Tensors apply_handle(const OpHandle& op, std::span<const Tensor> inputs);
/// The same for an op without inputs, which cannot tell its graph.
Tensors apply_handle(const OpHandle& op, const Graph& graph);

/// The general call: any op, any number of inputs and results.
template <Op T>
Tensors apply(T op, std::initializer_list<Tensor> inputs) {
  return apply_handle(OpHandle(std::move(op)), std::span<const Tensor>(inputs.begin(), inputs.size()));
}
template <Op T>
Tensors apply(T op, const Graph& graph) {
  return apply_handle(OpHandle(std::move(op)), graph);
}

/// A trained parameter at "<scope>.<name>". An existing path is a UserError, except within `reuse`, where the
/// parameter must exist with the same shape, and is returned. So are an empty name and an `init` of a number
/// that is not finite.
Tensor parameter(const Graph& graph, const std::string& name, const Shape& shape, Init init);

/// Enters a scope of a graph for as long as it lives.
class ScopeGuard {
 public:
  ScopeGuard(const Graph& graph, const std::string& name, bool reuse = false);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  std::shared_ptr<GraphData> data_;
  std::uint32_t before_;
};

/// A unary op: `x | Relu{}`.
template <Op T>
Tensor operator|(Tensor x, T op) {
  return apply(std::move(op), {std::move(x)}).at(0);
}
/// A layer: anything that takes a tensor and gives one.
template <class F>
requires(!Op<std::remove_cvref_t<F>> && std::is_invocable_r_v<Tensor, F&, Tensor>) Tensor operator|(
    Tensor x, F&& layer) {
  return layer(std::move(x));
}
/// A function, overloaded or not: `x | relu`.
inline Tensor operator|(Tensor x, Tensor (*function)(Tensor)) { return function(std::move(x)); }

/// What a layer or a function of one tensor is applied by: `call(layer, x)` takes ops and callables alike.
template <class F>
Tensor call(F& layer, Tensor x) {
  return std::move(x) | layer;
}

/// A layer within a named scope; made by `in_scope` and `reuse`.
template <class F>
struct Scoped {
  std::string name;
  F layer;
  bool again = false;
  Tensor operator()(Tensor x) { return within(*this, std::move(x)); }
  Tensor operator()(Tensor x) const { return within(*this, std::move(x)); }

 private:
  template <class Self>
  static Tensor within(Self& self, Tensor x) {
    const ScopeGuard guard(x.graph(), self.name, self.again);
    return call(self.layer, std::move(x));
  }
};
template <class F>
Scoped(std::string, F, bool) -> Scoped<F>;

/// `x | in_scope("block3", layer)`: parameters and ops of the layer get the path "block3. ...".
template <class F>
Scoped<F> in_scope(std::string name, F layer) {
  return {std::move(name), std::move(layer), false};
}
/// `x | reuse("block3", layer)`: builds the layer again on the parameters that are there.
template <class F>
Scoped<F> reuse(std::string name, F layer) {
  return {std::move(name), std::move(layer), true};
}

}  // namespace wafer::inline v0
