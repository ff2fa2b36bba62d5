// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/adamw_update.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/ops/pow.hpp>
#include <wafer/ops/sqrt.hpp>
#include <wafer/optim/adamw.hpp>

#include "optim/numbers.hpp"

namespace wafer::inline v0 {

void AdamW::build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
  optim::expect_below_one(beta1, "AdamW: beta1");
  optim::expect_below_one(beta2, "AdamW: beta2");
  optim::expect_not_negative(epsilon, "AdamW: epsilon");
  optim::expect_not_negative(weight_decay, "AdamW: weight_decay");

  // Once for all parameters, in f64; rounded where the update takes them.
  const Tensor step = builder.step();
  const Tensor rate = lr.at(step);
  const auto bias = [&](double beta) { return 1.0 - pow(constant_like(beta, step), step); };
  const Tensor decay = cast(1.0 - rate * weight_decay, DType::f32);
  const Tensor step_size = cast(rate / bias(beta1), DType::f32);
  const Tensor sqrt_bias2 = cast(sqrt(bias(beta2)), DType::f32);
  const Tensor scale = builder.scale();
  const Tensor no_decay = builder.graph().constant(1);

  for (const GradientOf& of : gradients) {
    const ScopeGuard scope(builder.graph(), "optimizer." + of.path);
    const Tensor m = builder.state(of, "m");
    const Tensor v = builder.state(of, "v");
    const Tensors next =
        apply(AdamwUpdate{beta1, beta2, epsilon},
              {of.value, of.gradient, m, v, decayed(of) ? decay : no_decay, step_size, sqrt_bias2, scale});
    builder.assign(of.value, next[0]);
    builder.assign(m, next[1]);
    builder.assign(v, next[2]);
  }
}

}  // namespace wafer::inline v0
