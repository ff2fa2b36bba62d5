// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/sum_to.hpp>
#include <wafer/ops/where.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

template <class T>
void choose(Tiles in, Tiles out) {
  ops::plain_elementwise<T, bool, T, T>(out[0], in, [](bool c, T a, T b) { return c ? a : b; });
}

}  // namespace

Types Where::infer(const Types& in) const {
  ops::expect_inputs(in, 3);
  ops::expect_dtype(in, 0, DType::boolean, "a condition");
  const TensorType type = ops::elementwise_type({in[1], in[2]}, 2, ops::Integers::no);
  const Shape shape = broadcast(in[0].shape, type.shape);
  ops::expect_number({type.dtype, shape}, ops::Integers::no);
  return {{type.dtype, shape}};
}
AxesRule Where::axes(const Types& in) const { return elementwise_rule(in, infer(in)[0].shape); }
Alias Where::alias(const Types& in) const { return ops::elementwise_alias(in, infer(in)[0], 1); }

void Where::run(const Context&, Tiles in, Tiles out) const {
  if (out[0].dtype == DType::f64) return choose<double>(in, out);
  choose<float>(in, out);
}

Gradients Where::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  const Tensor& g = cotangents[0];
  const Tensor none = g.graph().constant(0, g.dtype());
  return {{}, sum_to(where(in[0], g, none), in[1]), sum_to(where(in[0], none, g), in[2])};
}

Kernels Where::kernels(const Types& in) const {
  if (in[1].dtype != DType::f32) return {};
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
    const auto kernel = kernels::table(context.target).where;
    ops::elementwise<float, bool, float, float>(
        y[0], x, [&](Index n, ops::Run<bool> c, ops::Run<float> a, ops::Run<float> b, float* to) {
          kernel(n, c.data, c.stride, a.data, a.stride, b.data, b.stride, to);
        });
  }}};
}

Tensor where(Tensor condition, Tensor a, Tensor b) {
  return apply(Where{}, {std::move(condition), std::move(a), std::move(b)}).at(0);
}

}  // namespace wafer::inline v0
