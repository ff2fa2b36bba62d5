// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

namespace wafer::inline v0 {

/// Throws UserError as plan_floor().
void check_floor(const FloorRequest& request);

}  // namespace wafer::inline v0
