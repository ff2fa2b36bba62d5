// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// x stretched to the shape of `like` by NumPy's broadcasting; of `like` only the shape counts.
/// x is of any dtype; f64 stays a scalar. The gradient is summed back.
struct BroadcastLike {
  static constexpr std::string_view name = "wafer.broadcast_like";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
};

/// x itself where it has the shape already.
Tensor broadcast_like(Tensor x, Tensor like);

}  // namespace wafer::inline v0
