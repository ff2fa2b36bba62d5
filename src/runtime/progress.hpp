// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace wafer::inline v0 {

/// How far one worker has come: a number that it alone publishes, and that the others wait for.
///
/// A wait spins for some 50 us, which is what tiles of equal work differ by, and then sleeps until the number
/// changes. It never offers its CPU to others by a yield: a busy process would keep it for
/// milliseconds. A sleeper is back on a CPU at once when it is woken, and while it sleeps its CPU is free for
/// the worker that it waits for, should a third process have taken that one's.
class Progress {
 public:
  explicit Progress(std::int64_t begin) : reached_(begin) {}

  /// Wakes those who sleep.
  void publish(std::int64_t number) {
    // One order of the store and of the look at the sleepers, who count themselves in before their last look.
    reached_.store(number, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) wake();
  }

  /// Returns once `number` has been published, or a later one, or `given_up()`, which is asked again
  /// whenever something has been published. What was written before that is visible then.
  template <class GivenUp>
  void wait_for(std::int64_t number, const GivenUp& given_up) {
    const auto over = [&] { return reached_.load(std::memory_order_seq_cst) >= number || given_up(); };
    for (int spins = 0; spins < kSpins; ++spins) {
      if (over()) return;
      pause();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const std::uint32_t seen = wakes_.load(std::memory_order_acquire);
      if (over()) break;
      sleep_while(seen);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr int kSpins = 5000;  // of some 10 ns each

  static void pause();
  void wake();
  void sleep_while(std::uint32_t seen);  // the number of wakes

  std::atomic<std::int64_t> reached_;
  std::atomic<std::uint32_t> sleepers_{0}, wakes_{0};
};

inline void Progress::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // some 10 ns, where `yield` is none
#endif
}

}  // namespace wafer::inline v0
