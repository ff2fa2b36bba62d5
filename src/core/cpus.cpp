// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/cpus.hpp>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace wafer::inline v0 {

namespace {

Index affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// CPUs' worth of time that the cgroup grants; 0 for no quota.
double quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string granted;
  double period = 0;
  if (v2 >> granted >> period && granted != "max" && period > 0) return std::stod(granted) / period;
  std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double us = 0;
  if (v1 >> us && v1_period >> period && us > 0 && period > 0) return us / period;
  return 0;
}

}  // namespace

Index available_cpus() {
  Index cpus = affinity();
  const double granted = quota();
  if (granted > 0) cpus = std::min(cpus, static_cast<Index>(std::ceil(granted)));
  return std::max<Index>(cpus, 1);
}

}  // namespace wafer::inline v0
