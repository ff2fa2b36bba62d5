// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/log.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "kernels/math64.hpp"
#include "kernels/reference.hpp"
#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  static float of(float x) { return kernels::reference::log(x); }
  static double of(double x) { return kernels::log64(x); }
};
using Glue = ops::Unary<Function, &kernels::Table::log>;

}  // namespace

Types Log::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Log::axes(const Types& in) const { return Glue::axes(in); }
void Log::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Log::gradient(Inputs in, Outputs, Cotangents cotangents) const { return {cotangents[0] / in[0]}; }
Alias Log::alias(const Types& in) const { return Glue::alias(in); }
Kernels Log::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor log(Tensor x) { return std::move(x) | Log{}; }

}  // namespace wafer::inline v0
