// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/progress.hpp"

#include "catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace wafer;

TEST_CASE("What was written before a number was published is there after the wait, spinning or asleep") {
  constexpr std::int64_t kTurns = 400;
  Progress mine(0), other(0);
  std::int64_t written = 0, wrong = 0;  // by both in turn
  const auto never = [] { return false; };
  std::thread thread([&] {
    for (std::int64_t turn = 1; turn <= kTurns; ++turn) {
      mine.wait_for(turn, never);
      written += turn;
      if (turn % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the waiter sleeps
      other.publish(turn);
    }
  });
  for (std::int64_t turn = 1; turn <= kTurns; ++turn) {
    written += turn;
    mine.publish(turn);
    other.wait_for(turn, never);
    wrong += written != turn * (turn + 1);
  }
  thread.join();
  CHECK(wrong == 0);
  CHECK(written == kTurns * (kTurns + 1));
}

TEST_CASE("All sleepers are woken, each as soon as its number is reached") {
  Progress progress(0);
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (std::int64_t number : {1, 1, 2, 3}) {
    threads.emplace_back([&, number] {
      progress.wait_for(number, [] { return false; });
      ++woken;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(woken == 0);
  progress.publish(1);
  while (woken < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(woken == 2);
  progress.publish(3);
  for (std::thread& thread : threads) thread.join();
  CHECK(woken == 4);
}

TEST_CASE("A sleeper gives up when something is published and there is no sense in waiting any more") {
  Progress progress(0);
  std::atomic<bool> failed{false};
  std::thread thread([&] { progress.wait_for(100, [&] { return failed.load(); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  failed = true;
  progress.publish(1);
  thread.join();
  CHECK(failed);
}
