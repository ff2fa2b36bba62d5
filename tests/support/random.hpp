// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>

/// Whole numbers from a seed: the linear congruential generator of Knuth's MMIX. Draw each into a variable of
/// its own: the order of arguments is the compiler's.
class Random {
 public:
  explicit Random(std::uint64_t seed = 1) : state_(seed) {}
  wafer::Index below(wafer::Index limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<wafer::Index>((state_ >> 33) % static_cast<std::uint64_t>(limit));
  }
  wafer::Index between(wafer::Index low, wafer::Index high) { return low + below(high - low + 1); }

 private:
  std::uint64_t state_;
};
