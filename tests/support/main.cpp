// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// main() of every test program. Its last line is `N passed, M failed, K not run`, which tests/run.sh adds up.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
static const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo->name; }
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
static const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo.name; }
#endif

#include <cstdio>
#include <optional>

#include "catch.hpp"
#include "thread_sanitizer.hpp"

namespace {

struct Tally {
  int passed = 0, failed = 0, not_run = 0;
  std::optional<std::string> reason;  // why the running case says it cannot run
};

Tally& tally() {
  static Tally instance;
  return instance;
}

class Counter : public Listener {
 public:
  using Listener::Listener;

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    Tally& count = tally();
    if (stats.totals.testCases.failed > 0) {
      ++count.failed;
    } else if (count.reason) {
      ++count.not_run;
      std::printf("not run: %s: %s\n", name_of(stats).c_str(), count.reason->c_str());
    } else {
      ++count.passed;
    }
    count.reason.reset();
  }
};

CATCH_REGISTER_LISTENER(Counter)

constexpr int kNotRun = 4;  // what CTest is told to take for "skipped"

}  // namespace

void wafer_test::mark_not_run(const std::string& reason) { tally().reason = reason; }

int main(int argc, char** argv) {
  const int result = Catch::Session().run(argc, argv);
  const Tally& count = tally();
  // --help, --list-tests or a bad argument
  if (count.passed + count.failed + count.not_run == 0) return result;
  std::printf("%d passed, %d failed, %d not run\n", count.passed, count.failed, count.not_run);
  return result == 0 && count.passed == 0 ? kNotRun : result;
}
