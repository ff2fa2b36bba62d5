// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/packer.hpp>

#include <span>
#include <string>

namespace wafer::inline v0 {

/// A packing as SVG: a box for each buffer, its lifetime across, its bytes upwards; padding paler, a
/// dark frame where the offset was given; lines at the height and at the max-live bound. Throws UserError for
/// more than 20 000 buffers and for a packing of another number of buffers, and as Packing::verify().
std::string packing_svg(std::span<const PackBuffer> buffers, const Packing& packing);

}  // namespace wafer::inline v0
