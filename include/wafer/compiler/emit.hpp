// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/memory_plan.hpp>
#include <wafer/compiler/tiling.hpp>
#include <wafer/runtime/executable_data.hpp>

#include <memory>

namespace wafer::inline v0 {

/// Writes the plan down as the flat tables that a session runs; knows all stages, decides nothing.
std::shared_ptr<ExecutableData> emit(const Step& step, const StepFactors& factors, const Partition& partition,
                                     const Tiling& tiling, const Communication& communication,
                                     const StepSchedule& schedule, const Layout& layout,
                                     const MemoryPlan& memory, const Fabric& fabric, KernelTarget target);

}  // namespace wafer::inline v0
