// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/partition.hpp>

namespace wafer::inline v0 {

/// Decides for each op whether it is cut in its factor of class `cls`, along the direction and into the parts
/// of `partition.choices.feature`; writes factors, and how inputs and variables lie. A minimum cut of costs:
/// an op that is not cut computes everything in each block, and a value that is produced in pieces and read
/// whole is gathered.
void choose_feature_cuts(const Step& step, const StepFactors& factors, const Fabric& fabric,
                         std::uint32_t cls, std::uint64_t& random, Partition& partition);

}  // namespace wafer::inline v0
