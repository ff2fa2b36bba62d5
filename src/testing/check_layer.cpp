// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/step.hpp>
#include <wafer/error.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/sum.hpp>
#include <wafer/testing/check_layer.hpp>
#include <wafer/testing/interpreter.hpp>

#include "kernels/table.hpp"
#include "testing/differences.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace wafer::inline v0::testing {

namespace {

constexpr Index kMostDifferences = 16;  // of the elements of one tensor
constexpr double kStep = 1.0 / 16;

Tensor add_input(const Graph& graph, const std::string& name, const TensorType& type, const AxisTags& tags) {
  GraphData& data = *graph.data();
  data.feeds.push_back({name, static_cast<ValueId>(data.values.size())});
  const auto source = static_cast<std::uint32_t>(data.feeds.size() - 1);
  return Tensor(graph.data(), data.add_source(NodeKind::input, source, type, tags));
}

struct Variable {
  std::string what;
  Tensor tensor;
};

// What a layer depends on: its input, and all parameters of its graph.
std::vector<Variable> variables_of(const LayerGraph& layer) {
  std::vector<Variable> out{{"the input", layer.x}};
  for (const VariableInfo& variable : layer.x.data()->variables) {
    out.push_back({"parameter '" + variable.path + "'", Tensor(layer.x.data(), variable.value)});
  }
  return out;
}

double weighted(const Array& y, const Array& weights) {
  double sum = 0;
  for (Index i = 0; i < y.shape().size(); ++i) sum += number_at(y, i) * number_at(weights, i);
  return sum;
}

// d(Σ weights · y) / d(element i of a tensor), by central differences of the plain references.
double slope_at(const LayerGraph& layer, Interpreter& run, const Array& weights, const Tensor& of,
                std::size_t i) {
  const Array before = run.value(of);
  const auto difference = [&](double h) {
    double moved[2], value[2];
    for (int side : {0, 1}) {
      Array array = before;
      float& x = array.values<float>()[i];
      moved[side] =
          static_cast<double>(x = static_cast<float>(static_cast<double>(x) + (side == 0 ? -h : h)));
      run.set(of, array);
      value[side] = weighted(run.value(layer.y), weights);
    }
    return (value[1] - value[0]) / (moved[1] - moved[0]);
  };
  const double slope = (4 * difference(kStep / 2) - difference(kStep)) / 3;
  run.set(of, before);
  return slope;
}

void check_gradients(const LayerGraph& layer, const Array& x, double tolerance) {
  const Graph graph = layer.x.graph();
  const AxisTags& tags = graph.data()->values[layer.y.value()].axes;
  const Tensor weight = add_input(graph, "weights of the result", layer.y.type(), tags);
  const Array weights = Array::uniform(layer.y.shape(), 1000);
  const std::vector<Variable> variables = variables_of(layer);
  Tensors tensors;
  for (const Variable& variable : variables) tensors.push_back(variable.tensor);
  const Tensors gradients = gradients_of(sum(layer.y * weight), tensors);

  Interpreter fast(graph), plain(graph, {.reference = true});
  for (Interpreter* run : {&fast, &plain}) {
    run->set(layer.x, x);
    run->set(weight, weights);
  }
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (!gradients[v]) throw UserError(variables[v].what + ": expected a gradient, got none");
    const Array& gradient = fast.value(gradients[v]);
    const Index size = gradient.shape().size();
    double scale = 1;
    for (Index i = 0; i < size; ++i) scale = std::max(scale, std::abs(number_at(gradient, i)));
    for (Index i = 0; i < size; i += size / kMostDifferences + 1) {
      const double slope = slope_at(layer, plain, weights, variables[v].tensor, static_cast<std::size_t>(i));
      if (std::abs(slope - number_at(gradient, i)) <= tolerance * scale) continue;
      throw UserError("gradient of " + variables[v].what + ": expected about " + std::to_string(slope) +
                      " in element " + std::to_string(i) + ", got " + std::to_string(number_at(gradient, i)));
    }
  }
}

// The first rows of an array.
Array first_rows(const Array& x, Index rows) {
  const std::span<const float> all = x.values<float>();
  const Shape shape = x.shape().with(0, rows);
  return Array(shape, all.first(static_cast<std::size_t>(shape.size())));
}

}  // namespace

LayerGraph detail::begin_layer(const Array& x) {
  if (x.type().dtype != DType::f32 || x.shape().rank() < 1 || x.shape()[0] < 1) {
    throw UserError("check_layer: expected an input of f32 with at least one row, got " + text_of(x.type()));
  }
  const Graph graph;
  LayerGraph layer;
  layer.rows = graph.axis("rows", x.shape()[0]);
  AxisTags tags = kNoAxes;
  tags[0] = static_cast<std::int16_t>(layer.rows.id);
  layer.x = add_input(graph, "x", x.type(), tags);
  return layer;
}

void detail::check_layer(const LayerGraph& layer, const Array& x, const CheckOptions& options) {
  try {
    if (layer.y.dtype() != DType::f32)
      throw UserError("expected a result of f32, got " + text_of(layer.y.type()));
    Interpreter plain(layer.x.graph(), {.reference = true});
    plain.set(layer.x, x);
    for (KernelTarget target : kernels::kTargets) {
      if (!kernels::supports(target)) continue;
      Interpreter run(layer.x.graph(), {.target = target});
      run.set(layer.x, x);
      expect_close(run.value(layer.y), plain.value(layer.y), options.tolerance,
                   "kernels for " + std::string(name_of(target)) + " beside the plain references");
    }
    for (Index rows : {x.shape()[0] - 1, Index{0}}) {
      Interpreter run(layer.x.graph());
      run.set_extent(layer.rows, rows);
      run.set(layer.x, first_rows(x, rows));
      run.value(layer.y);
    }
    check_gradients(layer, x, options.gradient_tolerance);
  } catch (const Error& error) {
    throw UserError("check_layer: " + std::string(error.what()));
  }
}

}  // namespace wafer::inline v0::testing
