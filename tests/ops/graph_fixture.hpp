// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>
#include <wafer/graph/graph.hpp>
#include <wafer/testing/interpreter.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wafer_test {

using wafer::testing::Array;

/// A graph of parameters with given values, evaluated op by op.
struct Fixture {
  wafer::Graph graph;
  std::vector<std::pair<wafer::Tensor, Array>> sources;
  wafer::testing::InterpreterOptions options;

  /// A parameter of these values.
  wafer::Tensor operator()(const wafer::Shape& shape, std::initializer_list<float> values) {
    return operator()(Array(shape, values));
  }
  wafer::Tensor operator()(Array array) {
    const std::string name = "p" + std::to_string(sources.size());
    sources.emplace_back(wafer::parameter(graph, name, array.shape(), wafer::Init::zeros()),
                         std::move(array));
    return sources.back().first;
  }
  Array value(const wafer::Tensor& tensor) const {
    wafer::testing::Interpreter interpreter(graph, options);
    for (const auto& [source, array] : sources) interpreter.set(source, array);
    return interpreter.value(tensor);
  }
  std::vector<float> floats(const wafer::Tensor& tensor) const { return value(tensor).values<float>(); }
  double scalar(const wafer::Tensor& tensor) const {
    return tensor.dtype() == wafer::DType::f64 ? value(tensor).values<double>()[0]
                                               : static_cast<double>(floats(tensor).at(0));
  }
  /// Gradient of an f32 scalar.
  wafer::Tensor gradient(const wafer::Tensor& loss, const wafer::Tensor& of) const {
    return wafer::gradients_of(loss, std::span(&of, 1)).at(0);
  }
};

using Floats = std::vector<float>;

}  // namespace wafer_test
