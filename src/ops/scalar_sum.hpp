// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"
#include "ops/lanes.hpp"
#include "ops/support.hpp"

namespace wafer::inline v0::ops {

/// The members of an op that sums a term of each element of an f32 tensor to an f64 scalar: each row of the
/// last dimension from +0 by kRow, then one chain over the rows. At rank 1 each element is a row.
template <class Term, kernels::SumRowF64* kernels::Table::*kRow>
struct ScalarSum {
  static Types infer(const Types& in) {
    expect_inputs(in, 1);
    expect_dtype(in, 0, DType::f32, "a tensor");
    return {{DType::f64, Shape{}}};
  }
  static AxesRule axes(const Types& in) {
    AxesRule rule;
    AxesRule::Dims dims;
    for (int d = 0; d < in[0].shape.rank(); ++d) {
      const Index extent = in[0].shape[d];
      dims.push_back({d == 0 ? rule.reduced(kDimNames[d], extent) : rule.whole(kDimNames[d], extent)});
    }
    rule.operand(dims);
    rule.result({});
    return rule;
  }
  static void run(const Context& context, Tiles in, Tiles out) {
    const Tile& x = in[0];
    const bool rows = x.rank > 1;
    const std::size_t last = at(x.rank - 1);
    double total = context.accumulate ? *out[0].as<double>() : 0;
    for_each_index(rows ? x.rank - 1 : x.rank, x.extent, [&](const std::array<Index, kMaxRank>& index) {
      const float* row = ops::address<float>(x, index);
      total += rows ? sum_in_lanes<double>(x.extent[last], 0,
                                           [&](Index i) { return term(row[i * x.stride[last]]); })
                    : term(*row);
    });
    *out[0].as<double>() = total;
  }
  static Kernels kernels(const Types& in) {
    if (in[0].shape.rank() < 2) return {};
    return {{[](const void*, const Context& context, Tiles x, Tiles y) {
               const auto kernel = kernels::table(context.target).*kRow;
               const Index length = x[0].extent[at(x[0].rank - 1)];
               double total = context.accumulate ? *y[0].as<double>() : 0;
               for_each_row(x[0], context.scratch,
                            [&](const auto&, const float* row) { total += kernel(length, row); });
               *y[0].as<double>() = total;
             },
             row_scratch_bytes(in[0])}};
  }

 private:
  static double term(float x) { return Term::of(static_cast<double>(x)); }
};

}  // namespace wafer::inline v0::ops
