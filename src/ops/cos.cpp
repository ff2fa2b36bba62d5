// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/cos.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

constexpr double kHalfPi = 1.5707963267948966;  // −sin x = cos(x + π/2)

struct Function {
  static float of(float x) { return kernels::reference::cos(x); }
  static double of(double x) { return kernels::cos64(x); }
};
using Glue = ops::Unary<Function, &kernels::Table::cos>;

}  // namespace

Types Cos::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Cos::axes(const Types& in) const { return Glue::axes(in); }
void Cos::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Cos::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {cotangents[0] * cos(in[0] + kHalfPi)};
}
Alias Cos::alias(const Types& in) const { return Glue::alias(in); }
Kernels Cos::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor cos(Tensor x) { return std::move(x) | Cos{}; }

}  // namespace wafer::inline v0
