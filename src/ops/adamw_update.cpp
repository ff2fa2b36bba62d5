// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/adamw_update.hpp>

#include "ops/updates.hpp"

#include <cmath>

namespace wafer::inline v0 {

namespace {

// The inputs after p, g, m, v by name.
kernels::AdamwScalars scalars_of(const AdamwUpdate& op, Tiles in) {
  return {.decay = *in[4].as<float>(),
          .beta1 = static_cast<float>(op.beta1),
          .beta2 = static_cast<float>(op.beta2),
          .one_minus_beta1 = static_cast<float>(1 - op.beta1),
          .one_minus_beta2 = static_cast<float>(1 - op.beta2),
          .epsilon = static_cast<float>(op.epsilon),
          .step_size = *in[5].as<float>(),
          .sqrt_bias2 = *in[6].as<float>(),
          .scale = *in[7].as<float>()};
}

void run_kernel(const void* op, const Context& context, Tiles in, Tiles out) {
  const auto update = kernels::table(context.target).adamw_update;
  const kernels::AdamwScalars scalars = scalars_of(ops::op_of<AdamwUpdate>(op), in);
  ops::copy(out[0], in[0]);
  ops::copy(out[1], in[2]);
  ops::copy(out[2], in[3]);
  ops::for_each_matrix(out, in[1], [&](Index rows, Index cols, const auto& at, const auto& row) {
    update(rows, cols, {out[0].as<float>() + at[0], row[0]}, {out[1].as<float>() + at[1], row[1]},
           {out[2].as<float>() + at[2], row[2]}, {in[1].as<float>() + at[3], row[3]}, scalars);
  });
}

}  // namespace

Types AdamwUpdate::infer(const Types& in) const {
  ops::expect_update(in, 4, 4,
                     "parameter, gradient and two moments of f32 and one shape, then decay, step size, "
                     "bias correction and scale of f32[]");
  return {in[0], in[2], in[3]};
}

AxesRule AdamwUpdate::axes(const Types& in) const { return elementwise_rule(in, in[0].shape, 3); }

void AdamwUpdate::run(const Context& context, Tiles in, Tiles out) const {
  const kernels::AdamwScalars s = scalars_of(*this, in);
  const ops::MultiplyAdd multiply_add(context.target);
  for_each_index(out[0].rank, out[0].extent, [&](const auto& index) {
    const float d = element<float>(in[1], index) * s.scale;
    const float m = multiply_add(s.one_minus_beta1, d, s.beta1 * element<float>(in[2], index));
    const float v = multiply_add(s.one_minus_beta2 * d, d, s.beta2 * element<float>(in[3], index));
    const float root = std::sqrt(v) / s.sqrt_bias2 + s.epsilon;
    element<float>(out[0], index) = element<float>(in[0], index) * s.decay - s.step_size * m / root;
    const bool faded = ops::has_faded(m);
    element<float>(out[1], index) = faded ? 0 : m;
    element<float>(out[2], index) = faded && s.epsilon > 0 && ops::has_faded(v) ? 0 : v;
  });
}

Alias AdamwUpdate::alias(const Types&) const { return {{0, 0}, {1, 2}, {2, 3}}; }

Kernels AdamwUpdate::kernels(const Types&) const { return {{run_kernel}}; }

}  // namespace wafer::inline v0
