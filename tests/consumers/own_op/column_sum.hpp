// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

namespace own {

/// y[j] = Σ x[i,j] over the rows of an f32 matrix, in ascending order.
struct ColumnSum {
  static constexpr std::string_view name = "own.column_sum";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }

  wafer::Types infer(const wafer::Types& in) const {
    if (in.size() != 1 || in[0].dtype != wafer::DType::f32 || in[0].shape.rank() != 2)
      throw wafer::UserError("expected one matrix of f32, got " + wafer::text_of(in));
    return {{wafer::DType::f32, {in[0].shape[1]}}};
  }

  wafer::AxesRule axes(const wafer::Types& in) const {
    wafer::AxesRule rule;
    const int rows = rule.reduced("rows", in[0].shape[0]);
    const int columns = rule.parallel("columns", in[0].shape[1]);
    rule.operand({{rows}, {columns}});
    rule.result({{columns}});
    return rule;
  }

  void run(const wafer::Context& context, wafer::Tiles in, wafer::Tiles out) const {
    const wafer::Tile &x = in[0], &y = out[0];
    for (wafer::Index j = 0; j < y.extent[0]; ++j) {
      float sum = context.accumulate ? wafer::element<float>(y, {j}) : 0.0F;
      for (wafer::Index i = 0; i < x.extent[0]; ++i) sum += wafer::element<float>(x, {i, j});
      wafer::element<float>(y, {j}) = sum;
    }
  }

  wafer::Gradients gradient(wafer::Inputs in, wafer::Outputs, wafer::Cotangents cotangents) const {
    return {broadcast_like(cotangents[0], in[0])};
  }
};

}  // namespace own
