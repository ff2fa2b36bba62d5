// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/cast.hpp>
#include <wafer/ops/sgd_update.hpp>
#include <wafer/optim/sgd.hpp>

#include "optim/numbers.hpp"

namespace wafer::inline v0 {

void SGD::build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
  optim::expect_not_negative(momentum, "SGD: momentum");
  optim::expect_not_negative(weight_decay, "SGD: weight_decay");
  const Tensor rate = cast(lr.at(builder.step()), DType::f32);
  const Tensor scale = builder.scale();
  for (const GradientOf& of : gradients) {
    const ScopeGuard scope(builder.graph(), "optimizer." + of.path);
    const SgdUpdate update{momentum, decayed(of) ? weight_decay : 0, nesterov};
    if (update.has_momentum()) {
      const Tensor m = builder.state(of, "m");
      const Tensors next = apply(update, {of.value, of.gradient, m, rate, scale});
      builder.assign(of.value, next[0]);
      builder.assign(m, next[1]);
    } else {
      builder.assign(of.value, apply(update, {of.value, of.gradient, rate, scale})[0]);
    }
  }
}

}  // namespace wafer::inline v0
