// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/axis_extent.hpp>
#include <wafer/ops/mul.hpp>

#include <string>
#include <vector>

namespace wafer::inline v0 {

Types AxisExtent::infer(const Types& in) const {
  if (!in.empty()) throw UserError("expected no inputs, got " + text_of(in));
  return {{DType::f64, Shape{}}};
}

AxesRule AxisExtent::axes(const Types&) const {
  AxesRule rule;
  rule.result({});
  return rule;
}

void AxisExtent::run(const Context& context, Tiles, Tiles out) const {
  if (axis < 0 || static_cast<std::size_t>(axis) >= context.axes.size()) {
    throw RunError(std::string(context.where) + ": expected an axis of the graph, got number " +
                   std::to_string(axis) + " of " + std::to_string(context.axes.size()));
  }
  const Index extent = context.axes[static_cast<std::size_t>(axis)];
  *out[0].as<double>() = static_cast<double>(extent) * static_cast<double>(factor);
}

Tensor element_count(const Tensor& x, std::span<const int> dims) {
  Graph graph = x.graph();
  const GraphData& data = *graph.data();
  const Value value = data.values[x.value()];  // a copy: values move while ops are added
  Index fixed = 1;
  std::vector<Index> named;
  for (const int given : dims) {
    const int dim = data.dim_of(x.value(), given, "element_count");
    const Index axis = value.axes[static_cast<std::size_t>(dim)];
    const Index extent = value.type.shape[dim];
    if (axis >= 0) named.push_back(axis);
    fixed = checked_mul(fixed, axis < 0 ? extent : extent / data.axes[static_cast<std::size_t>(axis)].extent);
  }
  if (named.empty()) return graph.constant(static_cast<double>(fixed), DType::f64);
  Tensor count = apply(AxisExtent{named[0], fixed}, graph).at(0);
  for (std::size_t i = 1; i < named.size(); ++i) {
    count = mul(count, apply(AxisExtent{named[i], 1}, graph).at(0));
  }
  return count;
}

}  // namespace wafer::inline v0
