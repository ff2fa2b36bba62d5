// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/max.hpp>

#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/less.hpp>
#include <wafer/ops/sum_to.hpp>
#include <wafer/ops/where.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
using Glue = ops::Binary<Function, &kernels::Table::max, ops::Integers::yes>;

}  // namespace

Types Max::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Max::axes(const Types& in) const { return Glue::axes(in); }
void Max::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Max::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  const Tensor& g = cotangents[0];
  const Tensor half = 0.5 * g;
  const Tensor none = g.graph().constant(0, g.dtype());
  const Tensor a_wins = less(in[1], in[0]), b_wins = less(in[0], in[1]);
  return {sum_to(where(a_wins, g, where(b_wins, none, half)), in[0]),
          sum_to(where(b_wins, g, where(a_wins, none, half)), in[1])};
}
Alias Max::alias(const Types& in) const { return Glue::alias(in); }
Kernels Max::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor max(Tensor a, Tensor b) { return apply(Max{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
