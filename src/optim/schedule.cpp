// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/cos.hpp>
#include <wafer/ops/less.hpp>
#include <wafer/ops/min.hpp>
#include <wafer/ops/where.hpp>
#include <wafer/optim/schedule.hpp>

#include "optim/numbers.hpp"

#include <algorithm>
#include <numbers>

namespace wafer::inline v0 {

namespace {

void expect_steps(Index warmup_steps, Index total_steps) {
  if (warmup_steps >= 0 && warmup_steps <= total_steps) return;
  throw UserError("schedule: expected 0 <= warmup_steps <= total_steps, got " + std::to_string(warmup_steps) +
                  " and " + std::to_string(total_steps));
}

// `rate` once the warm-up is over.
Tensor warm_up(const Tensor& step, double peak, Index warmup_steps, const Tensor& rate) {
  if (warmup_steps == 0) return rate;
  const auto steps = static_cast<double>(warmup_steps);
  return where(less(constant_like(steps, step), step), rate, peak * step / steps);
}

}  // namespace

Schedule warmup(double peak, Index warmup_steps) {
  optim::expect_not_negative(peak, "schedule: peak");
  expect_steps(warmup_steps, warmup_steps);
  return [=](Tensor step) { return warm_up(step, peak, warmup_steps, constant_like(peak, step)); };
}

Schedule cosine(double peak, Index total_steps, double last) {
  return warmup_cosine(peak, 0, total_steps, last);
}

Schedule warmup_cosine(double peak, Index warmup_steps, Index total_steps, double last) {
  optim::expect_not_negative(peak, "schedule: peak");
  optim::expect_not_negative(last, "schedule: last");
  expect_steps(warmup_steps, total_steps);
  return [=](Tensor step) {
    // Without steps left, the first one after the warm-up is past the end already.
    const auto falling_steps = static_cast<double>(std::max<Index>(1, total_steps - warmup_steps));
    const Tensor progress =
        min(constant_like(1, step), (step - static_cast<double>(warmup_steps)) / falling_steps);
    const Tensor falling = last + 0.5 * (peak - last) * (1.0 + cos(std::numbers::pi * progress));
    return warm_up(step, peak, warmup_steps, falling);
  };
}

}  // namespace wafer::inline v0
