// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/schedule.hpp>
#include <wafer/compiler/tiling.hpp>
#include <wafer/core/target.hpp>

#include <vector>

namespace wafer::inline v0 {

/// Seconds of each step on a host whose workers claim tiles: of each action the work of its op and tails, by
/// the rates of the fabric, and what starting and handing over take. Products count whole vectors.
std::vector<double> host_seconds(const Step& step, const StepFactors& factors, const Partition& partition,
                                 const Communication& communication, const StepSchedule& schedule,
                                 const Tiling& tiling, const Fabric& fabric, KernelTarget target);

}  // namespace wafer::inline v0
