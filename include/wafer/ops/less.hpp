// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Whether a < b, of each pair of elements under NumPy's broadcasting; false if either is NaN.
/// f32 or i32 of any shape, or scalars of f64; gives booleans, which have no gradient.
struct Less {
  static constexpr std::string_view name = "wafer.less";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Kernels kernels(const Types& in) const;
};

Tensor less(Tensor a, Tensor b);

}  // namespace wafer::inline v0
