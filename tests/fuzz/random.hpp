// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>
#include <vector>

namespace fuzz {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the same
/// numbers with every compiler.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15ULL) {
    state_ = next() + stream;
  }
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In [0, n), n > 0.
  wafer::Index below(wafer::Index n) {
    return static_cast<wafer::Index>(next() % static_cast<std::uint64_t>(n));
  }
  wafer::Index between(wafer::Index low, wafer::Index high) { return low + below(high - low + 1); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[static_cast<std::size_t>(below(static_cast<wafer::Index>(of.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace fuzz
