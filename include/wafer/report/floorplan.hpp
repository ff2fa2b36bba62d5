// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

#include <span>
#include <string>

namespace wafer::inline v0 {

/// A floor plan as SVG: the mesh with faulty cores, a box for each kernel, darker the larger its share of
/// the slowest one's time, lines for connections, and the utilisation. `names` of kernels are numbers where
/// not given. Throws UserError for a plan or names of another number of kernels, and for more than 20 000
/// kernels or connections; and as FloorPlan::verify().
std::string floorplan_svg(const FloorRequest& request, const FloorPlan& plan,
                          std::span<const std::string> names = {});

}  // namespace wafer::inline v0
