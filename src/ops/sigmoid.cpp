// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/sigmoid.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  static float of(float x) { return kernels::reference::sigmoid(x); }
  static double of(double x) { return 1 / (1 + kernels::exp64(-x)); }
};
using Glue = ops::Unary<Function, &kernels::Table::sigmoid>;

}  // namespace

Types Sigmoid::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Sigmoid::axes(const Types& in) const { return Glue::axes(in); }
void Sigmoid::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Sigmoid::gradient(Inputs, Outputs out, Cotangents cotangents) const {
  return {cotangents[0] * (out[0] * (1.0 - out[0]))};
}
Alias Sigmoid::alias(const Types& in) const { return Glue::alias(in); }
Kernels Sigmoid::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor sigmoid(Tensor x) { return std::move(x) | Sigmoid{}; }

}  // namespace wafer::inline v0
