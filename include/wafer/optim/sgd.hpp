// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/optimizer.hpp>

#include <span>

namespace wafer::inline v0 {

/// Stochastic gradient descent as torch.optim.SGD does it (without dampening); the formula is at SgdUpdate.
/// With momentum, each parameter has the state "optimizer.<path>.m", which starts at 0.
struct SGD {
  Schedule lr = 0.01;
  double momentum = 0;      ///< >= 0
  double weight_decay = 0;  ///< >= 0; times the parameter, it is added to the gradient
  bool nesterov = false;    ///< only with momentum
  /// What decays. PyTorch's default is `every_parameter`.
  ParameterFilter decayed = weights_only;
  /// Throws UserError for numbers out of range.
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const;
};

}  // namespace wafer::inline v0
