// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>

using namespace faulty;

// A child has the caller's thread alone, and oneTBB's locks as other threads left them.
TEST_CASE("a session goes on in a child process, whatever threads the parent had") {
  if (kThreadSanitizer) WAFER_NOT_RUN("the thread sanitizer does not follow a fork from several threads");
  const Executable executable = compile_network();
  Session alone{executable, {.threads = 1}};
  for (Index k = 0; k < 6; ++k) train(alone, Rows(kBatch, k));
  const std::vector<std::vector<float>> expected = variables(alone);
  for (int round = 0; round < 60; ++round) {
    auto session = std::make_unique<Session>(executable, SessionOptions{.threads = 2 + round % 3});
    for (Index k = 0; k < 3; ++k) train(*session, Rows(kBatch, k));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(60);  // ends a child that hangs
      for (Index k = 3; k < 6; ++k) train(*session, Rows(kBatch, k));
      const bool right = variables(*session) == expected;
      session.reset();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    train(*session, Rows(kBatch, 3));  // and in the parent
    CHECK(session->steps() == 4);
  }
}
