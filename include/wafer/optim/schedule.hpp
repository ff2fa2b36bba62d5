// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/optimizer.hpp>

namespace wafer::inline v0 {

// Rates by the step's number t, from 1, as f64 expressions. A plain number is a constant rate by itself.
// All throw UserError unless rates are finite and >= 0, and 0 <= warmup_steps <= total_steps.

/// peak · t / warmup_steps while t <= warmup_steps, so that the first step learns already; then peak.
Schedule warmup(double peak, Index warmup_steps);

/// From just below `peak` to `last` at t = total_steps, and `last` from then on:
/// last + (peak − last) · (1 + cos(π · t / total_steps)) / 2.
/// (Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, without restarts.)
Schedule cosine(double peak, Index total_steps, double last = 0);

/// `warmup`, then `cosine` over the remaining steps: peak at t = warmup_steps, `last` at t = total_steps.
Schedule warmup_cosine(double peak, Index warmup_steps, Index total_steps, double last = 0);

}  // namespace wafer::inline v0
