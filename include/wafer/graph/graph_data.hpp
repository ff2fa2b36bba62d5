// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/init.hpp>
#include <wafer/graph/op.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

// The state of a graph, as compiler and bridges read it. Not for users: they hold Graph and Tensor.
namespace wafer::inline v0 {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffff;

/// Which named axis each dimension follows, -1 for a fixed one. Where a dimension is a product, the axis is
/// its outermost part, and the run-time extent is the axis's times (extent / greatest extent of the axis).
using AxisTags = std::array<std::int16_t, kMaxRank>;
inline constexpr AxisTags kNoAxes{-1, -1, -1, -1, -1, -1, -1, -1};

enum class NodeKind : std::uint8_t { op, input, variable, constant };

struct Node {
  OpHandle op;  ///< empty for a source
  NodeKind kind = NodeKind::op;
  std::uint32_t first_input = 0, inputs = 0;  ///< slots of GraphData::inputs
  ValueId first_value = 0;
  std::uint32_t values = 0;
  std::uint32_t scope = 0;   ///< index of GraphData::scopes: the layer path
  std::uint32_t source = 0;  ///< index of feeds, variables or constants
};

struct Value {
  TensorType type;
  AxisTags axes = kNoAxes;
  NodeId node = kNone;
  std::uint32_t first_use = kNone, last_use = kNone;  ///< slots that read it, linked by GraphData::next_use
};

struct FeedInfo {
  std::string name;
  ValueId value = kNone;
};

struct VariableInfo {
  std::string path;
  ValueId value = kNone;
  Init init;
  bool trained = true;  ///< a parameter; false for an optimizer's state
  bool decays = true;   ///< weight decay is for it
};

struct ConstantInfo {
  std::vector<std::byte> bytes;
};

struct SplitHint {
  ValueId value = kNone;
  int dim = 0;
  Mesh direction = Mesh::rows;
};

struct Scope {
  std::string path;
  bool reuse = false;
};

struct GraphData {
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> inputs;          ///< the operands of all nodes, by slot
  std::vector<NodeId> input_node;       ///< the node that reads each slot
  std::vector<std::uint32_t> next_use;  ///< the next slot that reads the same value
  std::vector<Axis> axes;
  std::vector<FeedInfo> feeds;
  std::vector<VariableInfo> variables;
  std::vector<ConstantInfo> constants;
  std::vector<SplitHint> splits;
  std::vector<Scope> scopes{{"", false}};
  std::uint32_t scope = 0;  ///< the current one

  Types input_types(const Node& node) const;
  Types result_types(const Node& node) const;
  std::span<const ValueId> inputs_of(const Node& node) const {
    return {inputs.data() + node.first_input, node.inputs};
  }
  /// "op 'wafer.matmul' at 'enc.fc1'", "input 'image'", "parameter 'fc1.weight'": for messages.
  std::string where(NodeId node) const;
  /// "f32[4, 3] of input 'image'": for messages.
  std::string text_of(ValueId value) const;
  /// "sum at 'enc.fc1'", in the current scope: for messages.
  std::string here(std::string_view who) const;
  /// `dim` of a value, counted from the end where negative. Throws UserError out of range; `who` was given
  /// it.
  int dim_of(ValueId value, int dim, std::string_view who) const;
  /// Whether an axis is one that this graph made.
  bool has(const Axis& axis) const;

  ValueId add_source(NodeKind kind, std::uint32_t source, TensorType type, AxisTags axes);
  /// Appends an op; infers types and axes, and adds op and layer path to what its functions throw.
  NodeId add_op(OpHandle op, std::span<const ValueId> operands);
};

}  // namespace wafer::inline v0
