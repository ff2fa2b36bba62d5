// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Index of the first greatest element along the last dimension; a NaN counts as greatest.
/// f32 [.., c] -> i32 [..]; c is at least 1.
struct Argmax {
  static constexpr std::string_view name = "wafer.argmax";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Kernels kernels(const Types& in) const;
};

Tensor argmax(Tensor x);

}  // namespace wafer::inline v0
