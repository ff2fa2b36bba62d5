// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// One step of AdamW on one parameter:
///
///     d = g·scale;  m' = beta1·m + (1 − beta1)·d;  v' = beta2·v + (1 − beta2)·d²
///     p' = p·decay − step_size·m' / (√v' / sqrt_bias2 + epsilon)
///
/// (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, in the arithmetic of
/// torch.optim.AdamW.) Inputs: p, g, m, v (all f32 of one shape), then f32 scalars that are the same for all
/// parameters: decay = 1 − rate · weight decay, step_size = rate / (1 − beta1^t), sqrt_bias2 = √(1 −
/// beta2^t), scale. Results: p', m', v', which may take their inputs' memory. An m' that has faded to a
/// denormal number is kept as 0, and beside it such a v', unless epsilon is 0.
struct AdamwUpdate {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr std::string_view name = "wafer.adamw_update";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("beta1", &AdamwUpdate::beta1), attr("beta2", &AdamwUpdate::beta2),
                      attr("epsilon", &AdamwUpdate::epsilon)};
  }
  /// Throws UserError for other inputs.
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;
};

}  // namespace wafer::inline v0
