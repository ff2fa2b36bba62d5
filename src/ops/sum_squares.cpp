// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/ops/sum_squares.hpp>

#include "ops/scalar_sum.hpp"

namespace wafer::inline v0 {

namespace {

struct Term {
  static double of(double x) { return x * x; }
};
using Glue = ops::ScalarSum<Term, &kernels::Table::sum_squares_row_f64,
                            &kernels::Table::sum_squares_adjacent_rows_f64>;

}  // namespace

Types SumSquares::infer(const Types& in) const { return Glue::infer(in); }
AxesRule SumSquares::axes(const Types& in) const { return Glue::axes(in); }
void SumSquares::run(const Context& context, Tiles in, Tiles out) const { Glue::run(context, in, out); }
Gradients SumSquares::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {in[0] * cast(2.0 * cotangents[0], DType::f32)};
}
Kernels SumSquares::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor sum_squares(Tensor x) { return std::move(x) | SumSquares{}; }

}  // namespace wafer::inline v0
