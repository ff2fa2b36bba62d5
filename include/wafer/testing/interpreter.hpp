// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>
#include <wafer/testing/array.hpp>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace wafer::inline v0::testing {

struct InterpreterOptions {
  KernelTarget target = KernelTarget::automatic;
  bool reference = false;  ///< run plain references instead of kernels
  std::uint64_t seed = 0;  ///< of initial parameters and random ops
  Index step = 1;          ///< number of the step, from 1
};

/// Runs the ops of a graph one after another, each on whole tensors, on the kernels that a session uses but
/// without any pass of the compiler: what compiled steps are held against. The graph may be extended between
/// calls.
class Interpreter {
 public:
  /// Throws UserError for a target that this CPU lacks.
  explicit Interpreter(Graph graph, InterpreterOptions options = {});

  /// The run-time extent of a named axis; until then it is the greatest one. Forgets results.
  void set_extent(const Axis& axis, Index extent);
  /// Gives a tensor its value: an input, a parameter (else it has its initial value), or any other in place
  /// of its op's result. Forgets results. Throws UserError where the run-time type is another.
  void set(const Tensor& tensor, Array value);
  /// The value of a tensor; computes whatever it needs and is not known yet. Throws RunError where an input
  /// has none, and whatever an op throws.
  const Array& value(const Tensor& tensor);
  std::vector<Array> values(std::span<const Tensor> tensors);
  /// The type of a tensor under the run-time extents.
  TensorType type_of(const Tensor& tensor) const;

 private:
  TensorType type_of(ValueId value) const;
  Index extent_of(int axis) const;
  void compute(ValueId wanted);
  void run_source(const Node& node);
  void run_op(NodeId id);
  bool known(ValueId value) const { return given_.contains(value) || computed_.contains(value); }

  Graph graph_;
  InterpreterOptions options_;
  std::vector<Index> extents_;  // of named axes; -1 for the greatest one
  std::unordered_map<ValueId, Array> given_, computed_;
};

/// Runs an op on tiles by its best kernel for a target (`automatic`: this CPU's best), or by its plain
/// reference.
void run_op(const OpHandle& op, const Types& in, Context context, bool reference, Tiles inputs,
            Tiles results);

}  // namespace wafer::inline v0::testing
