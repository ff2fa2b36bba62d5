// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph_data.hpp>

namespace wafer::inline v0 {

/// What the passes take from an op without another look: that its aliases name results and inputs that it
/// has, its kernels can be called, and its cost is a number. Throws UserError naming op and layer path.
void check_op(const GraphData& graph, NodeId id);

}  // namespace wafer::inline v0
