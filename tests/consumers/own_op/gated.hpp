// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

namespace own {

/// (x · Aᵀ + a) ⊙ sigmoid(x · Bᵀ + b), as wide as x. Parameters "a.weight", "a.bias", "b.weight", "b.bias" in
/// the scope where it is used.
struct Gated {
  wafer::Tensor operator()(wafer::Tensor x) const {
    const wafer::Index width = x.dim(-1);
    return (x | wafer::nn::Linear{width, "a"}) * sigmoid(x | wafer::nn::Linear{width, "b"});
  }
};

}  // namespace own
