// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string>

namespace wafer::inline v0::nn {

/// y = x · weightᵀ + bias over the last dimension: [.., rows, in] -> [.., rows, features].
///
/// Parameters "<name>.weight" [features, in] and "<name>.bias" [features], laid out and named as PyTorch's
/// Linear, and starting as it does: both uniform in ±1/√in, which is its kaiming_uniform with a = √5; zeros
/// where in = 0. The bias is made `without_decay`. Throws UserError for a negative number of features, and
/// for x of rank 0 or 1, or another dtype than f32.
struct Linear {
  Index features = 0;
  std::string name = "linear";
  bool bias = true;
  Tensor operator()(Tensor x) const;
};

}  // namespace wafer::inline v0::nn
