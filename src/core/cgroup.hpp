// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace wafer::inline v0 {

/// CPUs' worth of time that the process's cgroup, or one around it, grants (versions 1 and 2; the least of
/// them); 0 for no quota. `root` stands before /proc and /sys: for tests.
double cpu_quota(const std::string& root = "");

}  // namespace wafer::inline v0
