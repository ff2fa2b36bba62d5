// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/pipeline.hpp>

namespace wafer::inline v0 {

/// How the parts of the model lie on lanes.
struct PipelineShape {
  Index lanes = 1;
  Index chunks = 1;      // on each lane
  bool folded = false;   // the second half of the parts goes back up the lanes
  bool backward = true;  // there is a backward pass
  bool split = false;    // input and weight gradients are actions of their own
};
PipelineShape shape_of(const PipelineRequest& request);

/// The order of one lane, without times; `request` is checked.
PipelineLane order_of(const PipelineRequest& request, Index lane);

}  // namespace wafer::inline v0
