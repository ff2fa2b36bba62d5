// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/exp.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  static float of(float x) { return kernels::reference::exp(x); }
  static double of(double x) { return kernels::exp64(x); }
};
using Glue = ops::Unary<Function, &kernels::Table::exp>;

}  // namespace

Types Exp::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Exp::axes(const Types& in) const { return Glue::axes(in); }
void Exp::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Exp::gradient(Inputs, Outputs out, Cotangents cotangents) const { return {cotangents[0] * out[0]}; }
Alias Exp::alias(const Types& in) const { return Glue::alias(in); }
Kernels Exp::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor exp(Tensor x) { return std::move(x) | Exp{}; }

}  // namespace wafer::inline v0
