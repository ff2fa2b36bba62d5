// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/runtime/session.hpp>

#include <atomic>
#include <vector>

// A look into a session's run, for tests and benches. None of it may be called while a step runs.
namespace wafer::inline v0 {

/// What a session's steps have done since the last `clear_statistics`.
struct RunStatistics {
  Index workers = 0;      ///< that ran at least one tile
  Index blocks = 0;       ///< that computed
  Index moved_bytes = 0;  ///< between arenas
};
RunStatistics statistics(const Session& session);
void clear_statistics(Session& session);

/// `hook(data, worker)` is called by each worker when it enters a step, before it claims anything; a null
/// hook removes it. It must not throw.
void set_enter_hook(Session& session, void (*hook)(void* data, int worker), void* data);

/// Holds every worker at the begin of a step until all of the session's have arrived, or the watchdog's time
/// is over: so that a short step cannot be done by the first worker alone. Takes the session's enter hook for
/// as long as it lives.
class Gathering {
 public:
  explicit Gathering(Session& session, double watchdog_seconds = 10);
  ~Gathering();
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  /// Distinct threads that have taken part in a step since; fewer than the session's where the watchdog
  /// fired.
  Index threads() const;

 private:
  static void enter(void* self, int worker);
  Session session_;
  double watchdog_seconds_;
  std::atomic<std::int64_t> arrived_{0};          // over all steps
  std::vector<std::atomic<const void*>> thread_;  // of each worker: an address that only this thread has
};

}  // namespace wafer::inline v0
