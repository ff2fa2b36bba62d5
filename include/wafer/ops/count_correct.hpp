// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// How many rows of logits [.., c] have their first greatest element at the row's label [..]: a scalar of
/// i32.
struct CountCorrect {
  static constexpr std::string_view name = "wafer.count_correct";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Kernels kernels(const Types& in) const;
};

/// A label out of range is a RunError that names row and value.
Tensor count_correct(Tensor logits, Tensor label);

}  // namespace wafer::inline v0
