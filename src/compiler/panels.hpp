// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/layout.hpp>

#include <cstdint>

namespace wafer::inline v0 {

/// Whether a buffer is a matrix whose dimension `dim` can be stored in panels without much waste.
bool may_be_panelled(const Step& step, const Communication& communication, BufferId buffer, int dim);

/// Whether an op takes the panels of a layout, or its tiles, or its head's pieces, can be cut between them.
bool fits_panels(const Layout& layout, const Step& step, const StepFactors& factors,
                 const Communication& communication, const Fusion& fusion, std::size_t program,
                 std::uint32_t op);

/// Puts weights that products read in panels, and what is updated with them.
void choose_panels(const Step& step, const StepFactors& factors, const Communication& communication,
                   const Fusion& fusion, Layout& layout);

}  // namespace wafer::inline v0
