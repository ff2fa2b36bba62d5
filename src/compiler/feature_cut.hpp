// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/partition.hpp>

#include <cstdint>

namespace wafer::inline v0 {

/// Decides for each op whether it is cut in its factor of class `cls`, along the direction and into the parts
/// of `partition.choices.feature`; writes factors, and how inputs and variables lie. A minimum cut of costs:
/// an op that is not cut computes everything in each block, and a value that is produced in pieces and read
/// whole is gathered.
void choose_feature_cuts(const Step& step, const StepFactors& factors, const Fabric& fabric,
                         std::uint32_t cls, std::uint64_t& random, Partition& partition);

/// A random bit for tests, true but once in 2^bits times: a plan of its own for each seed.
inline bool mostly(std::uint64_t& state, int bits) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> (64 - bits)) != 0;
}

}  // namespace wafer::inline v0
