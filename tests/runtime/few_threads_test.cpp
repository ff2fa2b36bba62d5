// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

#include "catch.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

using namespace wafer;

TEST_CASE("a system that refuses threads gives an error, not the end of the process") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WAFER_NOT_RUN("a sanitizer needs more address space than the test leaves");
#endif
  Graph g;
  const Executable executable = compile(fetch("y", relu(g.input("x", {4}))), Fabric::host());
  constexpr int kUnlimited = 5;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    // Bytes: what there is, and some stacks, but not a thousand.
    const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + 200'000'000;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    rlimit obeyed{};
    if (getrlimit(RLIMIT_AS, &obeyed) != 0 || obeyed.rlim_cur != most) _exit(kUnlimited);
    try {
      Session{executable, {.threads = 1000}};
      _exit(3);
    } catch (const RunError&) {
      Session session{executable, {.threads = 1}};
      const std::vector<float> x{-1, 2, 3, 4};
      _exit(session.step({{"x", x}})["y"].values<float>()[0] == 0 ? 0 : 4);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  if (WEXITSTATUS(status) == kUnlimited) WAFER_NOT_RUN("an emulator obeys no limit of address space");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a session of many threads steps on a caller's small stack") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WAFER_NOT_RUN("a sanitizer's frames are larger");
#endif
  Graph g;
  Session session{compile(fetch("y", relu(g.input("x", {4}))), Fabric::host()), {.threads = 256}};
  constexpr std::size_t kStack = 128 * 1024;
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, kStack) == 0);
  struct Call {
    Session& session;
    float y = 0;
  } call{session};
  pthread_t caller{};
  const auto step = [](void* of) -> void* {
    const std::vector<float> x{-1, 2, 3, 4};
    auto& to = *static_cast<Call*>(of);
    to.y = to.session.step({{"x", x}})["y"].values<float>()[3];
    return nullptr;
  };
  REQUIRE(pthread_create(&caller, &attributes, step, &call) == 0);
  REQUIRE(pthread_join(caller, nullptr) == 0);
  REQUIRE(pthread_attr_destroy(&attributes) == 0);
  CHECK(call.y == 4);
}
