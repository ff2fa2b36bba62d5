// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/testing/hooks.hpp>

#include "runtime/session_state.hpp"

#include <chrono>
#include <set>
#include <thread>

namespace wafer::inline v0 {

RunStatistics statistics(const Session& session) {
  const ExecutorStats stats = session.state()->executor->stats();
  return {stats.workers, stats.blocks, stats.moved_bytes};
}

void clear_statistics(Session& session) { session.state()->executor->clear_stats(); }

void set_enter_hook(Session& session, void (*hook)(void* data, int worker), void* data) {
  session.state()->executor->set_enter_hook(hook, data);
}

Gathering::Gathering(Session& session, double watchdog_seconds)
    : session_(session),
      watchdog_seconds_(watchdog_seconds),
      thread_(static_cast<std::size_t>(session.threads())) {
  set_enter_hook(session_, &Gathering::enter, this);
}

Gathering::~Gathering() { set_enter_hook(session_, nullptr, nullptr); }

void Gathering::enter(void* self, int worker) {
  static thread_local const char mark = 0;
  Gathering& gathering = *static_cast<Gathering*>(self);
  gathering.thread_[static_cast<std::size_t>(worker)].store(&mark);
  // Steps follow each other, so each of them fills one more multiple of the workers.
  const auto workers = static_cast<std::int64_t>(gathering.thread_.size());
  const std::int64_t all = (gathering.arrived_.fetch_add(1) / workers + 1) * workers;
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration<double>(gathering.watchdog_seconds_);
  while (gathering.arrived_.load() < all && Clock::now() < limit) std::this_thread::yield();
}

Index Gathering::threads() const {
  std::set<const void*> distinct;
  for (const std::atomic<const void*>& thread : thread_) distinct.insert(thread.load());
  distinct.erase(nullptr);
  return static_cast<Index>(distinct.size());
}

}  // namespace wafer::inline v0
