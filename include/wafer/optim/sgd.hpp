// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/optimizer.hpp>

#include <span>

namespace wafer::inline v0 {

/// Stochastic gradient descent as torch.optim.SGD does it (without dampening); the formula is at SgdUpdate.
/// With momentum, each parameter has the state "optimizer.<path>.momentum", which starts at 0.
struct SGD {
  Schedule lr = 0.01;
  double momentum = 0;      ///< >= 0
  double weight_decay = 0;  ///< >= 0; added to the gradient of every parameter, biases too
  bool nesterov = false;    ///< only with momentum
  /// Throws UserError for numbers out of range.
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const;
};

}  // namespace wafer::inline v0
