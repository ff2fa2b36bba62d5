// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace wafer_test {

/// Runs every op of a small graph by its plain reference, in order of creation (operands come before their
/// op), on dense tensors of the greatest extents.
class Evaluator {
 public:
  explicit Evaluator(const wafer::Graph& graph) : graph_(graph.data()) {}

  wafer::Context context;

  /// Gives an input or a variable its values; others are 0.
  void set(const wafer::Tensor& source, const std::vector<float>& values) {
    std::vector<std::byte>& bytes = bytes_of(source.value());
    if (bytes.size() != values.size() * sizeof(float))
      throw wafer::UserError("evaluate: expected other values");
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }

  void run() {
    for (const wafer::Node& node : graph_->nodes) {
      if (node.kind == wafer::NodeKind::constant) {
        bytes_of(node.first_value) = graph_->constants[node.source].bytes;
      }
      if (node.kind != wafer::NodeKind::op) continue;
      std::vector<wafer::Tile> in, out;
      for (wafer::ValueId value : graph_->inputs_of(node)) in.push_back(tile_of(value));
      for (std::uint32_t r = 0; r < node.values; ++r) out.push_back(tile_of(node.first_value + r));
      node.op.model().run(node.op.get(), context, in, out);
    }
  }

  std::vector<float> floats(const wafer::Tensor& tensor) { return values<float>(tensor); }
  double number(const wafer::Tensor& scalar) {
    return scalar.dtype() == wafer::DType::f64 ? values<double>(scalar).at(0)
                                               : static_cast<double>(values<float>(scalar).at(0));
  }

 private:
  std::vector<std::byte>& bytes_of(wafer::ValueId value) {
    memory_.resize(graph_->values.size());
    memory_[value].resize(static_cast<std::size_t>(wafer::bytes_of(graph_->values[value].type)));
    return memory_[value];
  }
  wafer::Tile tile_of(wafer::ValueId value) {
    const wafer::TensorType& type = graph_->values[value].type;
    wafer::Tile tile;
    tile.data = bytes_of(value).data();
    tile.dtype = type.dtype;
    tile.rank = type.shape.rank();
    wafer::Index stride = 1;
    for (int d = tile.rank - 1; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      tile.extent[i] = tile.shape[i] = type.shape[d];
      tile.stride[i] = stride;
      stride *= type.shape[d];
    }
    return tile;
  }
  template <class T>
  std::vector<T> values(const wafer::Tensor& tensor) {
    const std::vector<std::byte>& bytes = bytes_of(tensor.value());
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }

  std::shared_ptr<wafer::GraphData> graph_;
  std::vector<std::vector<std::byte>> memory_;  // by value; dense
};

}  // namespace wafer_test
