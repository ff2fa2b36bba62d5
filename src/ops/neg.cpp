// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/neg.hpp>

#include <wafer/ops/arithmetic.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T x) {
    return -x;
  }
};
using Glue = ops::Unary<Function, &kernels::Table::neg>;

}  // namespace

Types Neg::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Neg::axes(const Types& in) const { return Glue::axes(in); }
void Neg::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Neg::gradient(Inputs, Outputs, Cotangents cotangents) const { return {-cotangents[0]}; }
Alias Neg::alias(const Types& in) const { return Glue::alias(in); }
Kernels Neg::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor neg(Tensor x) { return std::move(x) | Neg{}; }

}  // namespace wafer::inline v0
