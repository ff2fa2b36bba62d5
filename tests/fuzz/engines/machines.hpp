// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/machine.hpp>

#include "engine.hpp"

namespace fuzz {

/// A good machine of at most a few hundred cores, with constants of all kinds.
wafer::Machine draw_machine(Random& random);
/// One of its fields goes wrong, or may. What would need gigabytes is not drawn.
void spoil(Random& random, wafer::Machine& machine);
std::string text_of(const wafer::Machine& machine);

}  // namespace fuzz
