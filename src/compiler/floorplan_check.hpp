// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

#include <string>

namespace wafer::inline v0 {

/// "floor plan: kernel 3"
inline std::string floor_kernel_text(std::size_t kernel) {
  return "floor plan: kernel " + std::to_string(kernel);
}

/// Throws UserError as plan_floor().
void check_floor(const FloorRequest& request);

}  // namespace wafer::inline v0
