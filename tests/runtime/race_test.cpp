// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/testing/hooks.hpp>

#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define WAFER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAFER_THREAD_SANITIZER 1
#endif
#endif

using namespace faulty;

namespace {

int plain = 0;  // what two workers write, without any order

[[maybe_unused]] void race(void*, int) { plain = plain + 1; }

}  // namespace

// In a process of its own, whose report is how it ends.
TEST_CASE("the thread sanitizer reports a race between two workers") {
#if defined(WAFER_THREAD_SANITIZER)
  int report[2];
  REQUIRE(pipe(report) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(report[1], STDERR_FILENO);
    close(report[0]);
    Session session{compile_network(), {.threads = 2}};
    {
      const Gathering gathering(session);  // both are there
      train(session, Rows{});
    }
    set_enter_hook(session, race, nullptr);
    for (int k = 0; k < 100; ++k) train(session, Rows{});
    std::exit(0);
  }
  close(report[1]);
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(report[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  close(report[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("data race"));
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
#else
  WAFER_NOT_RUN("not built with the thread sanitizer");
#endif
}
