// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

namespace own {

/// x ⊙ gain over the last dimension. Parameter "gain", which begins with ones.
struct Gain {
  wafer::Tensor operator()(wafer::Tensor x) const {
    const wafer::Tensor gain =
        wafer::parameter(x.graph(), "gain", {x.dim(-1)}, wafer::Init::constant(1)).without_decay();
    return x * gain;
  }
};

}  // namespace own
