// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

#include <span>

namespace wafer_test {

/// Swaps each parameter with the state "other".
struct Swap {
  void build(wafer::UpdateBuilder& builder, std::span<const wafer::GradientOf> gradients) const {
    for (const wafer::GradientOf& of : gradients) {
      const wafer::Tensor other = builder.state(of, "other", wafer::Init::constant(7));
      builder.assign(of.value, other);
      builder.assign(other, of.value);
    }
  }
};

}  // namespace wafer_test
