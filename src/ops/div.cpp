// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/div.hpp>

#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/sum_to.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
using Glue = ops::Binary<Function, &kernels::Table::div>;

}  // namespace

Types Div::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Div::axes(const Types& in) const { return Glue::axes(in); }
void Div::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Div::gradient(Inputs in, Outputs out, Cotangents cotangents) const {
  const Tensor& g = cotangents[0];
  return {sum_to(g / in[1], in[0]), sum_to(-g * (out[0] / in[1]), in[1])};
}
Alias Div::alias(const Types& in) const { return Glue::alias(in); }
Kernels Div::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor div(Tensor a, Tensor b) { return apply(Div{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
