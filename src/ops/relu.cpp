// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/relu.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T x) {
    return x <= 0 ? T{0} : x;
  }
};
using Glue = ops::Unary<Function, &kernels::Table::relu>;

struct Slope {
  template <class T>
  static T of(T x, T dy) {
    return x > 0 ? dy : T{0};
  }
};
using SlopeGlue = ops::Binary<Slope, &kernels::Table::relu_gradient>;

}  // namespace

Types Relu::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Relu::axes(const Types& in) const { return Glue::axes(in); }
void Relu::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
// y > 0 exactly where x > 0; so x need not be kept.
Gradients Relu::gradient(Inputs, Outputs out, Cotangents cotangents) const {
  return apply(ReluGradient{}, {out[0], cotangents[0]});
}
Alias Relu::alias(const Types& in) const { return Glue::alias(in); }
Kernels Relu::kernels(const Types& in) const { return Glue::kernels(in); }

Types ReluGradient::infer(const Types& in) const { return SlopeGlue::infer(in); }
AxesRule ReluGradient::axes(const Types& in) const { return SlopeGlue::axes(in); }
void ReluGradient::run(const Context&, Tiles in, Tiles out) const { SlopeGlue::run(in, out); }
Alias ReluGradient::alias(const Types& in) const { return SlopeGlue::alias(in); }
Kernels ReluGradient::kernels(const Types& in) const { return SlopeGlue::kernels(in); }

Tensor relu(Tensor x) { return std::move(x) | Relu{}; }

}  // namespace wafer::inline v0
