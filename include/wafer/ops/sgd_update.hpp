// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// One step of stochastic gradient descent on one parameter:
///
///     d = g·scale + weight_decay·p;  m' = momentum·m + d;  p' = p − rate · (nesterov ? d + momentum·m' : m')
///
/// (Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning",
/// 2013, in the form of torch.optim.SGD without dampening.) Inputs: p, g, m (all f32 of one shape), rate,
/// scale (f32 scalars); results: p', m'. Without momentum there is no m, and p' = p − rate·d. Results may
/// take their inputs' memory. An m' that has faded to a denormal number is kept as 0.
struct SgdUpdate {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  static constexpr std::string_view name = "wafer.sgd_update";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("momentum", &SgdUpdate::momentum), attr("weight_decay", &SgdUpdate::weight_decay),
                      attr("nesterov", &SgdUpdate::nesterov)};
  }
  /// Throws UserError for other inputs.
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Alias alias(const Types& in) const;
  Kernels kernels(const Types& in) const;

  bool has_momentum() const { return momentum != 0; }
};

}  // namespace wafer::inline v0
