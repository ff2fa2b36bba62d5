// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace wafer::inline v0 {

/// How a parameter starts, keyed by its path and the session's seed.
struct Init {
  enum class Kind : std::uint8_t { constant, uniform };
  Kind kind = Kind::constant;
  double value = 0;  ///< the constant, or the bound of U(-value, value)
  static Init zeros() { return {}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
};

/// Throws UserError, naming the variable's path, for a number that is not finite as f32.
void check_init(std::string_view path, const Init& init);

}  // namespace wafer::inline v0
