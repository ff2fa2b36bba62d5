// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

#include <string_view>
#include <tuple>

namespace own {

/// min(max(x, low), high) of each element of an f32 tensor; NaN stays NaN. No gradient flows where x < low or
/// x > high.
struct Clip {
  double low = 0, high = 1;
  static constexpr std::string_view name = "own.clip";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{wafer::attr("low", &Clip::low), wafer::attr("high", &Clip::high)};
  }

  wafer::Types infer(const wafer::Types& in) const {
    if (in.size() != 1 || in[0].dtype != wafer::DType::f32) {
      throw wafer::UserError("expected one operand of f32, got " + wafer::text_of(in));
    }
    if (!(low <= high)) {
      throw wafer::UserError("expected low <= high, got " + std::to_string(low) + " and " +
                             std::to_string(high));
    }
    return in;
  }

  // One parallel factor for each dimension: any of them may be cut, among blocks, micro-batches and threads.
  wafer::AxesRule axes(const wafer::Types& in) const { return wafer::elementwise_rule(in, in[0].shape); }

  // A tile may be any piece of the operand, with any strides. Called by several threads at once.
  void run(const wafer::Context&, wafer::Tiles in, wafer::Tiles out) const {
    const auto least = static_cast<float>(low), greatest = static_cast<float>(high);
    wafer::for_each_index(out[0].rank, out[0].extent, [&](const auto& index) {
      const float x = wafer::element<float>(in[0], index);
      wafer::element<float>(out[0], index) = x < least ? least : x > greatest ? greatest : x;
    });
  }

  // Ordinary ops of the graph, so it is cut, scheduled and planned like all others.
  wafer::Gradients gradient(wafer::Inputs in, wafer::Outputs, wafer::Cotangents cotangents) const {
    const wafer::Tensor &x = in[0], &g = cotangents[0];
    const wafer::Tensor none = wafer::constant_like(0, g);
    const wafer::Tensor not_above = where(less(wafer::constant_like(high, x), x), none, g);
    return {where(less(x, wafer::constant_like(low, x)), none, not_above)};
  }

  // Each element is read before it is written, so the result may take the operand's memory.
  wafer::Alias alias(const wafer::Types&) const { return {{.result = 0, .input = 0}}; }
};

}  // namespace own
