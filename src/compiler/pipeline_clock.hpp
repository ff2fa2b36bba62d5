// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/pipeline.hpp>

namespace wafer::inline v0 {

/// Sets start and end of every lane, whose orders are given: each action starts as soon as its lane is free
/// and what it needs from another lane is there. Where all lanes repeat themselves, the repetitions are
/// skipped, exactly. Throws CompileError above kMostTimed actions.
void time_lanes(PipelineSchedule& schedule);

}  // namespace wafer::inline v0
