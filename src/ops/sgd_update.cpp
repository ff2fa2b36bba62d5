// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/sgd_update.hpp>

#include "ops/updates.hpp"

namespace wafer::inline v0 {

namespace {

// The inputs p, g, [m], rate, scale by name.
kernels::SgdScalars scalars_of(const SgdUpdate& op, Tiles in) {
  const std::size_t rate = op.has_momentum() ? 3 : 2;
  return {.learning_rate = *in[rate].as<float>(),
          .momentum = static_cast<float>(op.momentum),
          .weight_decay = static_cast<float>(op.weight_decay),
          .scale = *in[rate + 1].as<float>(),
          .nesterov = op.nesterov};
}

void run_kernel(const void* op, const Context& context, Tiles in, Tiles out) {
  const auto update = kernels::table(context.target).sgd_update;
  const kernels::SgdScalars scalars = scalars_of(ops::op_of<SgdUpdate>(op), in);
  const bool momentum = out.size() == 2;
  ops::copy(out[0], in[0]);
  if (momentum) ops::copy(out[1], in[2]);
  const std::size_t gradient = out.size();
  ops::for_each_matrix(out, in[1], [&](Index rows, Index cols, const auto& at, const auto& row) {
    const kernels::Rows m = momentum ? kernels::Rows{out[1].as<float>() + at[1], row[1]} : kernels::Rows{};
    update(rows, cols, {out[0].as<float>() + at[0], row[0]}, m,
           {in[1].as<float>() + at[gradient], row[gradient]}, scalars);
  });
}

}  // namespace

Types SgdUpdate::infer(const Types& in) const {
  if (nesterov && !has_momentum()) throw UserError("expected a momentum for nesterov, got 0");
  if (has_momentum()) {
    ops::expect_update(in, 3, 2,
                       "parameter, gradient and momentum of f32 and one shape, rate and scale of f32[]");
    return {in[0], in[2]};
  }
  ops::expect_update(in, 2, 2, "parameter and gradient of f32 and one shape, rate and scale of f32[]");
  return {in[0]};
}

AxesRule SgdUpdate::axes(const Types& in) const {
  return elementwise_rule(in, in[0].shape, has_momentum() ? 2 : 1);
}

void SgdUpdate::run(const Context& context, Tiles in, Tiles out) const {
  const kernels::SgdScalars s = scalars_of(*this, in);
  const ops::MultiplyAdd multiply_add(context.target);
  for_each_index(out[0].rank, out[0].extent, [&](const auto& index) {
    const float p = element<float>(in[0], index);
    float d = element<float>(in[1], index) * s.scale;
    if (s.weight_decay != 0) d = multiply_add(s.weight_decay, p, d);
    float step = d;
    if (has_momentum()) {
      const float m = multiply_add(s.momentum, element<float>(in[2], index), d);
      step = nesterov ? multiply_add(s.momentum, m, d) : m;
      element<float>(out[1], index) = ops::has_faded(m) ? 0 : m;
    }
    element<float>(out[0], index) = multiply_add(-s.learning_rate, step, p);
  });
}

Alias SgdUpdate::alias(const Types&) const { return has_momentum() ? Alias{{0, 0}, {1, 2}} : Alias{{0, 0}}; }

Kernels SgdUpdate::kernels(const Types&) const { return {{run_kernel}}; }

}  // namespace wafer::inline v0
