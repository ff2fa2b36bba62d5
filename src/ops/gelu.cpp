// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/gelu.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

constexpr double kSqrtTwoOverPi = 0.7978845608028654;

struct Function {
  static float of(float x) { return kernels::reference::gelu(x); }
  static double of(double x) {
    return 0.5 * x * (1 + kernels::tanh64(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
  }
};
using Glue = ops::Unary<Function, &kernels::Table::gelu>;

struct Slope {
  static float of(float x, float dy) { return kernels::reference::gelu_gradient(x) * dy; }
  static double of(double x, double dy) {
    const double t = kernels::tanh64(kSqrtTwoOverPi * (x + 0.044715 * x * x * x));
    return (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSqrtTwoOverPi * (1 + 3 * 0.044715 * x * x)) * dy;
  }
};
using SlopeGlue = ops::Binary<Slope, &kernels::Table::gelu_gradient>;

}  // namespace

Types Gelu::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Gelu::axes(const Types& in) const { return Glue::axes(in); }
void Gelu::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Gelu::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return apply(GeluGradient{}, {in[0], cotangents[0]});
}
Alias Gelu::alias(const Types& in) const { return Glue::alias(in); }
Kernels Gelu::kernels(const Types& in) const { return Glue::kernels(in); }

Types GeluGradient::infer(const Types& in) const { return SlopeGlue::infer(in); }
AxesRule GeluGradient::axes(const Types& in) const { return SlopeGlue::axes(in); }
void GeluGradient::run(const Context&, Tiles in, Tiles out) const { SlopeGlue::run(in, out); }
Alias GeluGradient::alias(const Types& in) const { return SlopeGlue::alias(in); }
Kernels GeluGradient::kernels(const Types& in) const { return SlopeGlue::kernels(in); }

Tensor gelu(Tensor x) { return std::move(x) | Gelu{}; }

}  // namespace wafer::inline v0
