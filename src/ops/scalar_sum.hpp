// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"
#include "ops/lanes.hpp"
#include "ops/support.hpp"

#include <algorithm>

namespace wafer::inline v0::ops {

/// The members of an op that sums a term of each element of an f32 tensor to an f64 scalar: each row of the
/// last dimension from +0 by kRow, then one chain over the rows. At rank 1 each element is a row.
template <class Term, kernels::SumRowF64* kernels::Table::*kRow,
          kernels::SumAdjacentRowsF64* kernels::Table::*kAdjacentRows>
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
    constexpr std::uint32_t kPanelOperands = 0b1;
    return {{[](const void*, const Context& context, Tiles x, Tiles y) {
               double& total = *y[0].as<double>();
               if (!context.accumulate) total = 0;
               if (rows_are_adjacent(x[0]))
                 add_adjacent_rows(kernels::table(context.target).*kAdjacentRows, x[0], total);
               else
                 add_rows(kernels::table(context.target).*kRow, x[0], context.scratch, total);
             },
             row_scratch_bytes(in[0]), false, kPanelOperands}};
  }

 private:
  // As the rows of a transposed matrix are, and those of a panel.
  static bool rows_are_adjacent(const Tile& x) {
    return x.rank == 2 && x.stride[0] == 1 && x.stride[1] != 1 && x.extent[1] > 1;
  }

  static void add_adjacent_rows(kernels::SumAdjacentRowsF64* kernel, const Tile& x, double& total) {
    double sums[kPanel];
    for (Index i = 0; i < x.extent[0]; i += kPanel) {
      const Index rows = std::min(kPanel, x.extent[0] - i);
      kernel(rows, x.extent[1], x.as<float>() + x.stride_of(0).at(i), x.stride[1], sums);
      for (Index r = 0; r < rows; ++r) total += sums[r];
    }
  }

  static void add_rows(kernels::SumRowF64* kernel, const Tile& x, void* scratch, double& total) {
    const Index length = x.extent[at(x.rank - 1)];
    for_each_row(x, scratch, [&](const auto&, const float* row) { total += kernel(length, row); });
  }

  static double term(float x) { return Term::of(static_cast<double>(x)); }
};

}  // namespace wafer::inline v0::ops
