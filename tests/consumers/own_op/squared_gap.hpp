// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

#include <string_view>
#include <tuple>

namespace own {

/// (a - b)² of two f32 tensors that are broadcast to each other.
struct SquaredGap {
  static constexpr std::string_view name = "own.squared_gap";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }

  wafer::Types infer(const wafer::Types& in) const {
    if (in.size() != 2 || in[0].dtype != wafer::DType::f32 || in[1].dtype != wafer::DType::f32)
      throw wafer::UserError("expected two operands of f32, got " + wafer::text_of(in));
    return {{wafer::DType::f32, wafer::broadcast(in[0].shape, in[1].shape)}};
  }

  wafer::AxesRule axes(const wafer::Types& in) const {
    return wafer::elementwise_rule(in, wafer::broadcast(in[0].shape, in[1].shape));
  }

  // What is broadcast is read again and again: the tile gets the result's extents, and strides of 0.
  void run(const wafer::Context&, wafer::Tiles in, wafer::Tiles out) const {
    const wafer::Tile& result = out[0];
    const wafer::Tile a = wafer::broadcast_tile(in[0], result.rank, result.extent);
    const wafer::Tile b = wafer::broadcast_tile(in[1], result.rank, result.extent);
    wafer::for_each_index(result.rank, result.extent, [&](const auto& index) {
      const float gap = wafer::element<float>(a, index) - wafer::element<float>(b, index);
      wafer::element<float>(result, index) = gap * gap;
    });
  }

  // An operand that was broadcast gets the sum of what flows back.
  wafer::Gradients gradient(wafer::Inputs in, wafer::Outputs, wafer::Cotangents cotangents) const {
    const wafer::Tensor g = 2 * (in[0] - in[1]) * cotangents[0];
    return {wafer::sum_to(g, in[0]), wafer::sum_to(-g, in[1])};
  }

  // A faster way where nothing is broadcast. A kernel is a plain function: `op` points to this struct.
  wafer::Kernels kernels(const wafer::Types& in) const {
    if (in[0].shape != in[1].shape) return {};
    return {{.run = run_dense}};  // .scratch_bytes: what it needs in context.scratch
  }

  static void run_dense(const void* op, const wafer::Context& context, wafer::Tiles in, wafer::Tiles out) {
    if (!in[0].contiguous() || !in[1].contiguous() || !out[0].contiguous())
      return static_cast<const SquaredGap*>(op)->run(context, in, out);
    const float *a = in[0].as<float>(), *b = in[1].as<float>();
    float* result = out[0].as<float>();
    for (wafer::Index i = 0; i < out[0].size(); ++i) result[i] = (a[i] - b[i]) * (a[i] - b[i]);
  }
};

}  // namespace own
