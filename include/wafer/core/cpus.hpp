// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

namespace wafer::inline v0 {

/// CPUs that this process may use: its affinity, and no more than its cgroup's quota (v1 or v2), rounded up;
/// at least 1.
Index available_cpus();

}  // namespace wafer::inline v0
