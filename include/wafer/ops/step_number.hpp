// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Number of the optimizer step that runs, from 1: an f64 scalar. No inputs: `apply(StepNumber{}, graph)`.
struct StepNumber {
  static constexpr std::string_view name = "wafer.step_number";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  /// Throws UserError where there are inputs.
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
};

Tensor step_number(const Graph& graph);

}  // namespace wafer::inline v0
