// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cgroup.hpp"

#include <wafer/core/cpus.hpp>

#include <sched.h>

#include <algorithm>
#include <cmath>

namespace wafer::inline v0 {

namespace {

Index affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

}  // namespace

Index available_cpus() {
  Index cpus = affinity();
  const double granted = std::ceil(cpu_quota());
  if (granted > 0 && granted < static_cast<double>(cpus)) cpus = static_cast<Index>(granted);
  return std::max<Index>(cpus, 1);
}

}  // namespace wafer::inline v0
