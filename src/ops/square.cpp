// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/square.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T x) {
    return x * x;
  }
};
using Glue = ops::Unary<Function, &kernels::Table::square>;

}  // namespace

Types Square::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Square::axes(const Types& in) const { return Glue::axes(in); }
void Square::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Square::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {cotangents[0] * (2.0 * in[0])};
}
Alias Square::alias(const Types& in) const { return Glue::alias(in); }
Kernels Square::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor square(Tensor x) { return std::move(x) | Square{}; }

}  // namespace wafer::inline v0
