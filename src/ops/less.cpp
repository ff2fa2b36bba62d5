// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/less.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

template <class T>
void compare(Tiles in, Tiles out) {
  ops::plain_elementwise<bool, T, T>(out[0], in, [](T a, T b) { return a < b; });
}

}  // namespace

Types Less::infer(const Types& in) const {
  return {{DType::boolean, ops::elementwise_type(in, 2, ops::Integers::yes).shape}};
}
AxesRule Less::axes(const Types& in) const { return elementwise_rule(in, infer(in)[0].shape); }

void Less::run(const Context&, Tiles in, Tiles out) const {
  switch (in[0].dtype) {
    case DType::f64: return compare<double>(in, out);
    case DType::i32: return compare<std::int32_t>(in, out);
    default: return compare<float>(in, out);
  }
}

Kernels Less::kernels(const Types& in) const {
  if (in[0].dtype != DType::f32) return {};
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
    const auto kernel = kernels::table(context.target).less;
    ops::elementwise<bool, float, float>(y[0], x,
                                         [&](Index n, ops::Run<float> a, ops::Run<float> b, bool* to) {
                                           kernel(n, a.data, a.stride, b.data, b.stride, to);
                                         });
  }}};
}

Tensor less(Tensor a, Tensor b) { return apply(Less{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
