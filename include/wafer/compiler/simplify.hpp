// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>

namespace wafer::inline v0 {

/// Drops what no result and no assignment depends on: ops, and the sources that only they read. (Folding of
/// constants and common subexpressions are to come here.)
Step simplify(Step step);

}  // namespace wafer::inline v0
