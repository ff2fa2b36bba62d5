// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/axis.hpp>
#include <wafer/core/shape.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

struct GraphData;
class Graph;

/// The two directions of a mesh of blocks.
enum class Mesh : std::uint8_t { rows, columns };

/// A value of a graph: a light handle that shares the graph's state, so it never dangles. An empty handle
/// stands for "no tensor" (no gradient, no cotangent).
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<GraphData> graph, std::uint32_t value) : graph_(std::move(graph)), value_(value) {}

  explicit operator bool() const { return graph_ != nullptr; }
  TensorType type() const;
  DType dtype() const { return type().dtype; }
  /// Greatest extents: those of named axes may be smaller in a run.
  Shape shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  /// Extent of one dimension, counted from the end where negative. Throws UserError out of range.
  Index dim(int dim) const;

  /// Hint: cut this dimension (index, negative from the end, or a named axis) over the mesh's rows or
  /// columns, over as many blocks as there are indices at most. `compile` throws a CompileError where that
  /// cannot be met. Returns the tensor itself.
  Tensor split(int dim, Mesh direction) const;
  Tensor split(const Axis& axis, Mesh direction) const;

  /// Hint: this parameter is left alone by the weight decay of optimizers, as biases and the gains of norms
  /// are. Throws UserError for what is no parameter. Returns the tensor itself.
  Tensor without_decay() const;

  /// The graph that this value belongs to. Throws UserError for an empty handle.
  Graph graph() const;
  std::uint32_t value() const { return value_; }
  const std::shared_ptr<GraphData>& data() const { return graph_; }

 private:
  std::shared_ptr<GraphData> graph_;
  std::uint32_t value_ = 0;
};
using Tensors = std::vector<Tensor>;

/// What an op's `gradient` takes and gives. A cotangent may be empty (nothing flows back through that
/// result), and a gradient left empty says that none flows to that input.
using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;
using Cotangents = std::span<const Tensor>;
using Gradients = std::vector<Tensor>;

}  // namespace wafer::inline v0
