// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Square root of each element, correctly rounded; NaN below 0.
/// f32 of any shape, or a scalar of f64.
struct Sqrt {
  static constexpr std::string_view name = "wafer.sqrt";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

Tensor sqrt(Tensor x);

}  // namespace wafer::inline v0
