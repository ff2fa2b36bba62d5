// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/memory_plan.hpp>
#include <wafer/compiler/tiling.hpp>
#include <wafer/core/target.hpp>

#include <vector>

namespace wafer::inline v0 {

/// Seconds of each step on a host whose workers claim tiles: of each action the work of its op and tails, by
/// the rates of the fabric, and what starting and handing over take; and those of far_seconds. Products count
/// whole vectors.
std::vector<double> host_seconds(const Step& step, const StepFactors& factors, const Partition& partition,
                                 const Communication& communication, const StepSchedule& schedule,
                                 const Tiling& tiling, const MemoryPlan& memory, const Fabric& fabric,
                                 KernelTarget target);

/// Seconds that the products of each step's body wait for what the cache does not hold. They walk their
/// operands, weights again in each micro-batch; of these bytes such a part is far as of the memory in which
/// the operands lie is beyond the cache's size. Zero where all of it fits.
std::vector<double> far_seconds(const Step& step, const StepFactors& factors,
                                const Communication& communication, const StepSchedule& schedule,
                                const MemoryPlan& memory, const Fabric& fabric);

}  // namespace wafer::inline v0
