// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>

namespace wafer::inline v0 {

/// Throws UserError, naming the step, unless there are requests, each with a name of its own and something to
/// do, all on one graph, whose ops have one C++ type for each name.
void check_requests(std::span<const NamedRequest> requests);

}  // namespace wafer::inline v0
