// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/testing/hooks.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace faulty;

namespace {

int plain = 0;  // what two workers write, without any order

void race(void*, int) { plain = plain + 1; }

}  // namespace

// Not run by itself: the case below does.
TEST_CASE("two workers write one plain number", "[.][seeded_race]") {
  Session session{compile_network(), {.threads = 2}};
  {
    const Gathering gathering(session);  // both are there
    train(session, Rows{});
    REQUIRE(gathering.threads() == 2);
  }
  set_enter_hook(session, race, nullptr);
  for (int k = 0; k < 1000; ++k) train(session, Rows{});
  CHECK(plain > 0);
}

TEST_CASE("the thread sanitizer reports a seeded race") {
  if (!kThreadSanitizer) WAFER_NOT_RUN("not built with the thread sanitizer");
  int report[2];
  REQUIRE(pipe(report) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(report[1], STDOUT_FILENO);
    dup2(report[1], STDERR_FILENO);
    close(report[0]);
    execl("/proc/self/exe", "tests_runtime", "[seeded_race]", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(report[1]);
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(report[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  close(report[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("data race") &&
                       Catch::Matchers::ContainsSubstring("race_test.cpp"));
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
