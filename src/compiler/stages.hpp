// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/layout.hpp>
#include <wafer/compiler/memory_plan.hpp>
#include <wafer/compiler/placement.hpp>
#include <wafer/compiler/tiling.hpp>
#include <wafer/runtime/executable_data.hpp>

namespace wafer::inline v0 {

/// More threads than this are a mistake.
inline constexpr Index kMaxThreads = 1024;

/// The value of each stage, kept with the executable so that its plan stays open to look at.
struct Stages : PlanText {
  Fabric fabric;
  Step step;
  StepFactors factors;
  Partition partition;
  Placement placement;
  Tiling tiling;
  Communication communication;
  Fusion fusion;
  StepSchedule schedule;
  Layout layout;
  MemoryPlan memory;
  std::vector<double> seconds;  ///< of each step, by the cost model
  Index scratch_bytes = 0;

  void verify(const Fabric& on) const;
  std::string summary() const override;
  std::string dump(std::string_view stage) const override;
};

}  // namespace wafer::inline v0
