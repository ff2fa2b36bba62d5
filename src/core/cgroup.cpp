// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cgroup.hpp"

#include <fstream>

namespace wafer::inline v0 {

namespace {

// Both read the quota of one cgroup from its folder. What is no number, such as "max" or -1, is no quota.
double quota_v1(const std::string& folder) {
  std::ifstream granted_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double granted = 0, period = 0;
  if (granted_file >> granted && period_file >> period && granted > 0 && period > 0) return granted / period;
  return 0;
}
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double granted = 0, period = 0;
  if (file >> granted >> period && granted > 0 && period > 0) return granted / period;
  return 0;
}

// The least of a cgroup and of those around it. In a container the path may be the host's, which is not
// there: then the container's own cgroup is the mount itself.
template <class Quota>
double least_quota(const std::string& mount, std::string path, const Quota& quota_of) {
  double least = 0;
  for (;;) {
    const double quota = quota_of(mount + path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (path.empty()) return least;
    path.erase(path.rfind('/'));
  }
}

bool lists_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double cpu_quota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::string path_v1, path_v2, line;
  std::ifstream memberships(root + "/proc/self/cgroup");
  while (std::getline(memberships, line)) {  // "4:cpu,cpuacct:/docker/1", and "0::/docker/1" of version 2
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/') continue;
    if (controllers.empty()) path_v2 = path;
    if (lists_cpu(controllers)) path_v1 = path;
  }
  const double v1 = least_quota(mount + "/cpu", path_v1, quota_v1);
  const double v2 = least_quota(mount, path_v2, quota_v2);
  return v1 == 0 ? v2 : v2 == 0 ? v1 : v1 < v2 ? v1 : v2;
}

}  // namespace wafer::inline v0
