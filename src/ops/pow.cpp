// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/pow.hpp>

#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/less.hpp>
#include <wafer/ops/log.hpp>
#include <wafer/ops/max.hpp>
#include <wafer/ops/sum_to.hpp>
#include <wafer/ops/where.hpp>

#include "kernels/math64.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  static double of(double a, double b) { return kernels::pow64(a, b); }
  static float of(float a, float b) {
    return static_cast<float>(of(static_cast<double>(a), static_cast<double>(b)));
  }
};
using Glue = ops::Binary<Function, &kernels::Table::pow>;

// Whether x is neither 0 nor NaN.
Tensor nonzero(const Tensor& x) { return less(x.graph().constant(0, x.dtype()), max(x, -x)); }

}  // namespace

Types Pow::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Pow::axes(const Types& in) const { return Glue::axes(in); }
void Pow::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Pow::gradient(Inputs in, Outputs out, Cotangents cotangents) const {
  const Tensor &a = in[0], &b = in[1], &g = cotangents[0];
  // At an exponent of 0 the slope is 0 whatever the base, and at a base of 0 that of the exponent is.
  const Tensor less_one = where(nonzero(b), b - 1.0, b);
  const Tensor logarithm = log(where(nonzero(a), a, a.graph().constant(1, a.dtype())));
  return {sum_to(g * (b * pow(a, less_one)), a), sum_to(g * (out[0] * logarithm), b)};
}
Alias Pow::alias(const Types& in) const { return Glue::alias(in); }
Kernels Pow::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor pow(Tensor a, Tensor b) { return apply(Pow{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
