// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/collectives.hpp>
#include <wafer/fabric/simulator.hpp>

#include <span>
#include <string>

namespace wafer::inline v0 {

/// A collective on its mesh as SVG: a box for each core, darker the longer its ramp receives; two strokes
/// between neighbours, one for each way, darker and wider the more wavelets the link carried; on a row or
/// column an arc for each message, coloured by its step; black boxes for those of `faults`, a machine's, that
/// lie in the area or next to it. Throws UserError for an area of more than 4096 cores or off the mesh, and
/// for a simulation of other traffic.
std::string collective_svg(const Collective& collective, const Simulation& simulation,
                           std::span<const CoreArea> faults = {});

}  // namespace wafer::inline v0
