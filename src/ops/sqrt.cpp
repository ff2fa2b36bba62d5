// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/sqrt.hpp>

#include <wafer/ops/arithmetic.hpp>

#include <cmath>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T x) {
    return std::sqrt(x);
  }
};
using Glue = ops::Unary<Function, &kernels::Table::sqrt>;

}  // namespace

Types Sqrt::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Sqrt::axes(const Types& in) const { return Glue::axes(in); }
void Sqrt::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Sqrt::gradient(Inputs, Outputs out, Cotangents cotangents) const {
  return {cotangents[0] / (2.0 * out[0])};
}
Alias Sqrt::alias(const Types& in) const { return Glue::alias(in); }
Kernels Sqrt::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor sqrt(Tensor x) { return std::move(x) | Sqrt{}; }

}  // namespace wafer::inline v0
