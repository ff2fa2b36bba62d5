// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <chrono>
#include <thread>

using namespace faulty;

namespace {

// Throws in one row of every step, a thousand times, and returns how often all was as it should be: the very
// exception that the op made has come out, and nothing has changed.
int thrown_and_caught(Session& session, int times) {
  const Rows batch;
  train(session, batch);
  const std::vector<std::vector<float>> before = variables(session);
  const Index steps = session.steps();
  std::atomic<const void*> made{nullptr};
  int good = 0;
  for (int k = 0; k < times; ++k) {
    const Acting acting([&](Index row) {
      if (row != k % kBatch) return;
      static constexpr char kTokens[kBatch] = {};
      made = &kTokens[row];  // blocks that share a row write the same
      throw Fault("row " + std::to_string(row) + " of step " + std::to_string(k), made);
    });
    try {
      train(session, batch);
    } catch (const Fault& fault) {
      const std::string expected = "row " + std::to_string(k % kBatch) + " of step " + std::to_string(k);
      good += fault.token == made && fault.what() == expected;
    }
    if (k % 100 == 99 && (variables(session) != before || session.steps() != steps)) good = -times;
  }
  return good;
}

// What a session that has seen no fault has after the same good steps.
std::vector<std::vector<float>> after_good_steps(const Executable& executable, int steps) {
  Session session{executable, {.threads = 1}};
  for (int k = 0; k < steps; ++k) train(session, Rows{});
  return variables(session);
}

}  // namespace

TEST_CASE("an op that throws a thousand times reaches the caller each time") {
  const Watchdog watchdog("a thousand exceptions", 120);
  for (const Layout& layout : {Layout{}, Layout{2, 2, true, true}, Layout{0, 0, false, false, 3}}) {
    const Executable executable = compile_network(layout);
    const std::vector<std::vector<float>> expected = after_good_steps(executable, 2);
    for (Index threads : {1, 2, 8}) {
      INFO(layout.text() << ", threads " << threads);
      Session session{executable, {.threads = threads}};
      CHECK(thrown_and_caught(session, 1000) == 1000);
      CHECK(session.steps() == 1);
      train(session, Rows{});
      CHECK(variables(session) == expected);
      CHECK(session.steps() == 2);
    }
  }
}

TEST_CASE("of several failures the first one in the order of the plan reaches the caller") {
  const Watchdog watchdog("several failures", 120);
  for (const Layout& layout : {Layout{kBatch, 1, true, false}, Layout{0, 0, false, false, kBatch}}) {
    const Executable executable = compile_network(layout);
    for (Index threads : {1, 2, 4, 8}) {
      INFO(layout.text() << ", threads " << threads);
      Session session{executable, {.threads = threads}};
      const std::vector<std::vector<float>> before = variables(session);
      int first = 0;
      for (int k = 0; k < 20; ++k) {
        // Row 2 fails last, if there is another worker: it waits a little for a later row to fail.
        std::atomic<bool> later{false};
        const Acting acting([&](Index row) {
          if (row < 2) return;
          const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
          while (row == 2 && !later && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          later = later || row > 2;
          throw Fault("row " + std::to_string(row), nullptr);
        });
        try {
          train(session, Rows{});
        } catch (const Fault& fault) {
          first += fault.what() == std::string("row 2");
        }
      }
      CHECK(first == 20);
      CHECK(variables(session) == before);
      CHECK(session.steps() == 0);
    }
  }
}

TEST_CASE("exceptions under a host's limit of one thread") {
  const Watchdog watchdog("a host's limit of one thread", 60);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  const Executable executable = compile_network({2, 2, true, true});
  const std::vector<std::vector<float>> expected = after_good_steps(executable, 2);
  for (Index threads : {1, 2, 8}) {
    INFO("threads " << threads);
    Session session{executable, {.threads = threads}};
    CHECK(thrown_and_caught(session, 1000) == 1000);
    train(session, Rows{});
    CHECK(variables(session) == expected);
  }
}

TEST_CASE("exceptions within a host's own tasks") {
  if (kThreadSanitizer)
    WAFER_NOT_RUN("the thread sanitizer cannot see into oneTBB, which the host uses here");
  const Watchdog watchdog("sessions within a host's tasks", 60);
  const Executable executable = compile_network();
  const std::vector<std::vector<float>> expected = after_good_steps(executable, 2);
  constexpr int kSessions = 4;
  std::vector<int> good(kSessions);
  std::vector<std::vector<std::vector<float>>> weights(kSessions);
  const auto run = [&](int s) {
    Session session{executable, {.threads = 2}};
    // The op's act is one for all, so that they throw in every row alike.
    for (int k = 0; k < 50; ++k) {
      try {
        eval(session, Rows{});
      } catch (const Fault&) {
        ++good[static_cast<std::size_t>(s)];
      }
    }
  };
  const auto train_twice = [&](int s) {
    Session session{executable, {.threads = 2}};
    train(session, Rows{});
    train(session, Rows{});
    weights[static_cast<std::size_t>(s)] = variables(session);
  };
  const auto run_all = [&] {
    {
      const Acting acting([](Index) { throw Fault("every row", nullptr); });
      tbb::parallel_for(0, kSessions, run);
    }
    tbb::parallel_for(0, kSessions, train_twice);
  };
  const bool own_arena = GENERATE(false, true);
  if (own_arena) {
    tbb::task_arena(2).execute(run_all);
  } else {
    run_all();
  }
  for (int s = 0; s < kSessions; ++s) {
    CHECK(good[static_cast<std::size_t>(s)] == 50);
    CHECK(weights[static_cast<std::size_t>(s)] == expected);
  }
}

TEST_CASE("an op that uses oneTBB itself") {
  if (kThreadSanitizer)
    WAFER_NOT_RUN("the thread sanitizer cannot see into oneTBB, which the host uses here");
  // The op gives way all the time, which is slow beside other programs.
  const Watchdog watchdog("oneTBB within an op", 300);
  const Executable executable = compile_network({2, 2, true, true});
  const auto check = [&](std::size_t most) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, most);
    for (Index threads : {1, 2, 8}) {
      INFO("threads " << threads << " of at most " << most);
      Session session{executable, {.threads = threads}};
      int caught = 0;
      for (int k = 0; k < 100; ++k) {
        const Acting acting([&](Index row) {
          // Long enough for pieces of it to be taken by another thread, so that this one waits: and must not
          // be given a further worker meanwhile.
          tbb::parallel_for(0, 16, [&](int i) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
            while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
            if (k % 2 == 0 && row == kBatch - 1 && i == 9) throw Fault("within", nullptr);
          });
        });
        try {
          train(session, Rows{});
        } catch (const Fault& fault) {
          caught += fault.what() == std::string("within");
        }
      }
      CHECK(caught == 50);
      CHECK(session.steps() == 50);
    }
  };
  check(1);
  check(2);
  check(8);
}

TEST_CASE("what is thrown need not be an exception") {
  Session session{compile_network(), {.threads = 2}};
  const std::vector<std::vector<float>> before = variables(session);
  int caught = 0;
  {
    const Acting acting([](Index row) {
      if (row == 4) throw 42;
    });
    try {
      train(session, Rows{});
    } catch (int thrown) {
      caught = thrown;
    }
  }
  CHECK(caught == 42);
  CHECK(variables(session) == before);
}
