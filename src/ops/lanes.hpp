// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace wafer::inline v0::ops {

/// start + Σ term(i), i in [0, n), in the order of sums over a last dimension (SumRow in kernels/table.hpp),
/// plainly.
template <class T, class Term>
T sum_in_lanes(Index n, T start, const Term& term) {
  constexpr Index kChunk = 64, kLanes = 16;
  for (Index chunk = 0; chunk < n; chunk += kChunk) {
    std::array<T, kLanes> lanes;
    lanes.fill(T{-0.0F});
    const Index end = std::min(n, chunk + kChunk);
    for (Index i = chunk; i < end; ++i) lanes[static_cast<std::size_t>((i - chunk) % kLanes)] += term(i);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    start += lanes[0];
  }
  return start;
}

}  // namespace wafer::inline v0::ops
