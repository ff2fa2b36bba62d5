// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Every element in another type. To f32 rounds to nearest, ties to even; to i32 drops the fraction, keeps to
/// the nearest value that i32 holds, and makes 0 of NaN; to bool is "not 0", so NaN gives true. From one
/// float type to another there is a gradient; elsewhere none flows.
struct Cast {
  DType dtype = DType::f32;
  static constexpr std::string_view name = "wafer.cast";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{attr("dtype", &Cast::dtype)}; }
  /// One input of any shape. Throws UserError where f64 meets a rank above 0.
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
};

/// x itself where it has the type already.
Tensor cast(Tensor x, DType dtype);

}  // namespace wafer::inline v0
