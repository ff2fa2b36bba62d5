// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>
#include <vector>

namespace wafer::inline v0 {

/// Dimensions in another order: dimension i of the result is dimension permutation[i] of x. Any dtype.
struct Transpose {
  std::vector<Index> permutation{};
  static constexpr std::string_view name = "wafer.transpose";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{attr("permutation", &Transpose::permutation)}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
};

/// Swaps the last two dimensions. Throws UserError below rank 2.
Tensor transpose(Tensor x);
/// Negative dimensions count from the end.
Tensor transpose(Tensor x, const std::vector<int>& permutation);

}  // namespace wafer::inline v0
