// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/optimizer.hpp>

#include <span>

namespace wafer::inline v0 {

/// Adam with decoupled weight decay and bias correction, as torch.optim.AdamW does it; the formula is at
/// AdamwUpdate. With weight_decay = 0 it is Adam. Each parameter has the states "optimizer.<path>.m" and
/// ".v", which start at 0.
struct AdamW {
  Schedule lr = 1e-3;
  double beta1 = 0.9;          ///< in [0, 1)
  double beta2 = 0.999;        ///< in [0, 1)
  double epsilon = 1e-8;       ///< >= 0
  double weight_decay = 0.01;  ///< >= 0
  /// What decays. PyTorch's default is `every_parameter`.
  ParameterFilter decayed = weights_only;
  /// Throws UserError for numbers out of range.
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const;
};

}  // namespace wafer::inline v0
