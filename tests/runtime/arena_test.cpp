// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/bridge/tbb.hpp>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <sched.h>

#include <atomic>
#include <mutex>
#include <set>

using namespace faulty;

namespace {

std::vector<std::vector<float>> trained_alone() {
  Session session{compile_network(), {.threads = 1}};
  for (Index k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
  return variables(session);
}

/// The CPUs that the calling thread may run on.
std::set<int> affinity() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  std::set<int> out;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) out.insert(cpu);
  }
  return out;
}

}  // namespace

TEST_CASE("a session works in a host's arena, on its threads only, with the same bits") {
  if (kThreadSanitizer) WAFER_NOT_RUN("oneTBB on the host's side is invisible to the thread sanitizer");
  const Watchdog watchdog("a session in a host's arena", 300);
  tbb::task_arena arena(2);
  Session session{compile_network(), {.threads = 2, .arena = in(arena)}};
  CHECK(session.threads() == 2);
  std::atomic<int> outside{0}, calls{0};
  plot().act = [&](Index) {
    ++calls;
    outside += tbb::this_task_arena::max_concurrency() != 2;
  };
  for (Index k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
  plot().act = {};
  CHECK(calls > 0);
  CHECK(outside == 0);
  CHECK(variables(session) == trained_alone());
}

TEST_CASE("a session steps within a host's parallel_for, and under a limit of one thread") {
  if (kThreadSanitizer) WAFER_NOT_RUN("oneTBB on the host's side is invisible to the thread sanitizer");
  const Watchdog watchdog("sessions in a parallel_for", 300);
  const Executable executable = compile_network();
  const auto expected = trained_alone();
  std::mutex mutex;
  int right = 0;
  const auto run = [&](bool lent) {
    tbb::task_arena arena(2);
    tbb::parallel_for(0, 4, [&](int) {
      SessionOptions options{.threads = 2};
      if (lent) options.arena = in(arena);
      Session session{executable, options};
      for (Index k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
      const std::lock_guard lock(mutex);
      right += variables(session) == expected;
    });
  };
  run(false);
  run(true);
  CHECK(right == 8);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  run(true);
  CHECK(right == 12);
}

TEST_CASE("a step is whole within a host's task that has been cancelled") {
  if (kThreadSanitizer) WAFER_NOT_RUN("oneTBB on the host's side is invisible to the thread sanitizer");
  const Watchdog watchdog("a step in a cancelled task", 300);
  tbb::task_arena arena(2);
  Session session{compile_network(), {.threads = 2, .arena = in(arena)}};
  std::atomic<int> within{0};
  arena.execute([&] {
    tbb::task_group group;
    group.run_and_wait([&] {
      group.cancel();
      const Acting acting([&](Index) { tbb::parallel_for(0, 5, [&](int) { ++within; }); });
      for (Index k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
    });
  });
  CHECK(within == 3 * kBatch * 5);
  CHECK(variables(session) == trained_alone());
}

TEST_CASE("pinning keeps to the process's affinity and leaves no trace on any thread") {
  if (kThreadSanitizer) WAFER_NOT_RUN("oneTBB on the host's side is invisible to the thread sanitizer");
  const std::set<int> before = affinity();
  const auto threads = static_cast<Index>(std::min<std::size_t>(2, before.size()));
  std::mutex mutex;
  bool within = true;
  {
    Session session{compile_network(), {.threads = threads, .pin = true}};
    plot().act = [&](Index) {
      const std::set<int> here = affinity();
      const std::lock_guard lock(mutex);
      for (int cpu : here) within = within && before.contains(cpu);
    };
    for (Index k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
    plot().act = {};
    CHECK(variables(session) == trained_alone());
  }
  CHECK(within);
  CHECK(affinity() == before);
  // oneTBB's threads, met again in another arena, may run anywhere.
  tbb::task_arena arena(2);
  arena.execute([&] {
    tbb::parallel_for(0, 64, [&](int) {
      const std::lock_guard lock(mutex);
      within = within && affinity() == before;
    });
  });
  CHECK(within);
}

TEST_CASE("an arena that is only half given is refused") {
  int something = 0;
  HostArena half;
  half.arena = &something;
  CHECK_THROWS_WITH(Session(compile_network(), {.arena = half}),
                    "arena: expected one as in(arena) of wafer/bridge/tbb.hpp gives it, got half of one");
}
