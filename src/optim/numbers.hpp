// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/error.hpp>

#include <cmath>
#include <string>

// Checks of the numbers that optimizers and schedules are given.
namespace wafer::inline v0::optim {

/// Throws UserError unless the value is finite and >= 0.
inline void expect_not_negative(double value, const std::string& what) {
  if (!(value >= 0 && std::isfinite(value))) {
    throw UserError(what + ": expected a finite number >= 0, got " + std::to_string(value));
  }
}

/// Throws UserError unless the value is in [0, 1).
inline void expect_below_one(double value, const std::string& what) {
  if (!(value >= 0 && value < 1)) {
    throw UserError(what + ": expected a number in [0, 1), got " + std::to_string(value));
  }
}

}  // namespace wafer::inline v0::optim
