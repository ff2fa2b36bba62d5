// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/tanh.hpp>

#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/square.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  static float of(float x) { return kernels::reference::tanh(x); }
  static double of(double x) { return kernels::tanh64(x); }
};
using Glue = ops::Unary<Function, &kernels::Table::tanh>;

}  // namespace

Types Tanh::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Tanh::axes(const Types& in) const { return Glue::axes(in); }
void Tanh::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Tanh::gradient(Inputs, Outputs out, Cotangents cotangents) const {
  return {cotangents[0] * (1.0 - square(out[0]))};
}
Alias Tanh::alias(const Types& in) const { return Glue::alias(in); }
Kernels Tanh::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor tanh(Tensor x) { return std::move(x) | Tanh{}; }

}  // namespace wafer::inline v0
