// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cgroup.hpp"

#include <wafer/core/cpus.hpp>

#include "catch.hpp"
#include "temp_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

using namespace wafer;

namespace {

// A folder with files as the kernel shows them.
class Machine {
 public:
  const Machine& file(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = folder_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
    return *this;
  }
  double quota() const { return cpu_quota(folder_.path()); }

 private:
  wafer_test::TempFolder folder_;
};

}  // namespace

TEST_CASE("a quota of CPU time is that of the process's cgroup or of one around it") {
  CHECK(Machine().quota() == 0);
  // Version 2, in a container that sees its own cgroup as the root.
  CHECK(Machine()
            .file("/proc/self/cgroup", "0::/\n")
            .file("/sys/fs/cgroup/cpu.max", "200000 100000\n")
            .quota() == 2);
  CHECK(
      Machine().file("/proc/self/cgroup", "0::/\n").file("/sys/fs/cgroup/cpu.max", "max 100000\n").quota() ==
      0);
  // A service with a quota, in a slice with a smaller one.
  const Machine service;
  service.file("/proc/self/cgroup", "0::/jobs.slice/one.service\n")
      .file("/sys/fs/cgroup/jobs.slice/one.service/cpu.max", "350000 100000\n");
  CHECK(service.quota() == 3.5);
  CHECK(service.file("/sys/fs/cgroup/jobs.slice/cpu.max", "150000 100000\n").quota() == 1.5);
  // Version 1: its own folder, or where that is the host's, the mount.
  const Machine old;
  old.file("/proc/self/cgroup", "5:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n0::/other\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(old.quota() == 0.5);
  CHECK(old.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n").quota() == 0);
  CHECK(old.file("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n")
            .file("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n")
            .quota() == 2);
  // What is no such file is no quota.
  CHECK(Machine()
            .file("/proc/self/cgroup", "0:\n::\n\nnonsense\n0::relative\n")
            .file("/sys/fs/cgroup/cpu.max", "many some\n")
            .quota() == 0);
}

TEST_CASE("there is at least one CPU, and no more than the quota grants") {
  CHECK(available_cpus() >= 1);
  if (cpu_quota() > 0) CHECK(static_cast<double>(available_cpus()) < cpu_quota() + 1);
}
