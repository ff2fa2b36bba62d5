// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/pipeline.hpp>

#include <string>

namespace wafer::inline v0 {

/// The part of a schedule that a picture shows: the actions that touch these cycles.
struct GanttWindow {
  Index from = 0;
  Index to = 0;  ///< behind the last; 0: to the end
};

/// A Gantt chart as SVG: a row for each lane, a box for each action with the number of its micro-batch, each
/// later chunk of a lane paler. Throws UserError for a window that is empty or has more than 20 000 actions,
/// and as PipelineSchedule::unroll().
std::string gantt_svg(const PipelineSchedule& schedule, GanttWindow window = {});

}  // namespace wafer::inline v0
