// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/differences.hpp"

#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>
#include <wafer/testing/interpreter.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace wafer::inline v0::testing {

namespace {

constexpr Index kMostDifferences = 64;  // of the elements of one input
constexpr double kStep = 1.0 / 16;

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

std::string element_text(const Array& got, const Array& expected, Index i) {
  std::ostringstream out;
  out.precision(10);
  out << "element " << i << " is " << number_at(got, i) << ", not " << number_at(expected, i);
  return out.str();
}

void set_number(Array& array, Index i, double value) {
  const auto at = static_cast<std::size_t>(i);
  if (array.type().dtype == DType::f64) {
    array.values<double>()[at] = value;
  } else {
    array.values<float>()[at] = static_cast<float>(value);
  }
}

// What weighs each result: the cotangents, and the coefficients of the sum that is differenced.
std::vector<Array> weights_of(const Types& types) {
  std::vector<Array> weights;
  for (std::size_t r = 0; r < types.size(); ++r) {
    weights.push_back(types[r].dtype == DType::f32 ? Array::uniform(types[r].shape, 1000 + r)
                                                   : Array(types[r]));
    if (types[r].dtype == DType::f64) weights.back() = Array(0.75);
  }
  return weights;
}

double weighted_sum(const OpCall& call, const Example& inputs, const std::vector<Array>& weights) {
  std::vector<Array> results = unwritten(call.out());
  call.run({KernelTarget::automatic, true}, tiles_of(inputs), tiles_of(results), false);
  double sum = 0;
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (!is_float(results[r].type().dtype)) continue;
    for (Index i = 0; i < results[r].shape().size(); ++i)
      sum += number_at(weights[r], i) * number_at(results[r], i);
  }
  return sum;
}

double central_difference(const OpCall& call, const std::vector<Array>& weights, std::size_t input, Index i,
                          double h) {
  Example inputs = call.inputs();
  const double x = number_at(inputs[input], i);
  const auto value_at = [&](double moved) {
    set_number(inputs[input], i, moved);
    return std::pair(number_at(inputs[input], i), weighted_sum(call, inputs, weights));
  };
  const auto [above, y_above] = value_at(x + h);
  const auto [below, y_below] = value_at(x - h);
  return (y_above - y_below) / (above - below);
}

Tensor constant_of(const Graph& graph, const Array& array) {
  GraphData& data = *graph.data();
  data.constants.push_back({{array.bytes().begin(), array.bytes().end()}});
  const auto source = static_cast<std::uint32_t>(data.constants.size() - 1);
  return Tensor(graph.data(), data.add_source(NodeKind::constant, source, array.type(), kNoAxes));
}

std::vector<Array> gradients_of(const OpCall& call, const std::vector<Array>& weights) {
  const Graph graph;
  Tensors inputs, cotangents;
  for (const Array& input : call.inputs()) inputs.push_back(constant_of(graph, input));
  const Tensors outputs = apply_handle(call.op(), inputs);
  for (const Array& weight : weights) {
    cotangents.push_back(is_float(weight.type().dtype) ? constant_of(graph, weight) : Tensor{});
  }
  const Gradients gradients = call.op().model().gradient(call.op().get(), inputs, outputs, cotangents);
  if (gradients.size() != inputs.size()) {
    throw UserError("expected a gradient, or an empty one, for each input, got " +
                    std::to_string(gradients.size()));
  }
  Interpreter interpreter(graph);
  std::vector<Array> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (gradients[i] && gradients[i].type() != inputs[i].type()) {
      throw UserError("gradient of input " + std::to_string(i) + ": expected " + text_of(inputs[i].type()) +
                      ", got " + text_of(gradients[i].type()));
    }
    values.push_back(gradients[i] ? interpreter.value(gradients[i]) : Array(inputs[i].type()));
  }
  return values;
}

}  // namespace

double number_at(const Array& array, Index i) {
  const auto at = static_cast<std::size_t>(i);
  switch (array.type().dtype) {
    case DType::f32: return static_cast<double>(array.values<float>()[at]);
    case DType::f64: return array.values<double>()[at];
    case DType::i32: return array.values<std::int32_t>()[at];
    case DType::boolean: return static_cast<double>(array.bytes()[at]);
  }
  return 0;
}

std::string difference_text(const Array& got, const Array& expected) {
  const Index bytes = size_of(expected.type().dtype);
  for (Index i = 0; i < expected.shape().size(); ++i) {
    const auto begin = static_cast<std::size_t>(i * bytes), count = static_cast<std::size_t>(bytes);
    const auto a = got.bytes().subspan(begin, count), b = expected.bytes().subspan(begin, count);
    if (!std::equal(a.begin(), a.end(), b.begin())) return element_text(got, expected, i);
  }
  return "no difference";
}

void expect_close(const Array& got, const Array& expected, double tolerance, const std::string& what) {
  if (same_bits(got, expected)) return;
  const bool exact = !is_float(expected.type().dtype);
  double scale = 1;
  for (Index i = 0; i < expected.shape().size(); ++i) {
    const double magnitude = std::abs(number_at(expected, i));
    if (std::isfinite(magnitude)) scale = std::max(scale, magnitude);
  }
  for (Index i = 0; i < expected.shape().size(); ++i) {
    const double a = number_at(got, i), b = number_at(expected, i);
    const bool same =
        (a == b && (tolerance > 0 || std::signbit(a) == std::signbit(b))) || (std::isnan(a) && std::isnan(b));
    if (!same && (exact || !(std::abs(a - b) <= tolerance * scale)))
      throw UserError(what + ": " + element_text(got, expected, i));
  }
}

void check_gradient(const OpCall& call, double tolerance) {
  const bool flows = std::any_of(call.out().begin(), call.out().end(),
                                 [](const TensorType& t) { return is_float(t.dtype); });
  if (!flows) return;
  const std::vector<Array> weights = weights_of(call.out());
  const std::vector<Array> gradients = gradients_of(call, weights);
  for (std::size_t input = 0; input < gradients.size(); ++input) {
    if (!is_float(call.in()[input].dtype)) continue;
    const Array& gradient = gradients[input];
    const Index size = gradient.shape().size();
    double scale = 1;
    for (Index i = 0; i < size; ++i) scale = std::max(scale, std::abs(number_at(gradient, i)));
    for (Index i = 0; i < size; i += size / kMostDifferences + 1) {
      // Two steps, extrapolated: what is left is of the fourth order.
      const double wide = central_difference(call, weights, input, i, kStep);
      const double narrow = central_difference(call, weights, input, i, kStep / 2);
      const double slope = (4 * narrow - wide) / 3;
      if (std::abs(number_at(gradient, i) - slope) <= tolerance * scale) continue;
      std::ostringstream text;
      text << "gradient of input " << input << ": expected about " << slope << " in element " << i << ", got "
           << number_at(gradient, i);
      throw UserError(text.str());
    }
  }
}

}  // namespace wafer::inline v0::testing
