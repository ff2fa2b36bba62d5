// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/runtime/host_arena.hpp>

#include <memory>

namespace wafer::inline v0 {

/// Threads for a session. The one source behind this is all that knows oneTBB.
class Workers {
 public:
  using Function = void(void* data, int worker);

  /// Room for `threads` workers, the caller being one of them. More than the machine has are had by a
  /// tbb::global_control, which lasts as long as this object and counts for the whole process. With `pin`,
  /// oneTBB's threads keep to one CPU each while they are here. In a host's arena, neither is done.
  Workers(int threads, bool pin, const HostArena& arena);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return threads_; }
  /// Calls function(data, w) once for each worker w in [0, threads), on as many threads as oneTBB grants,
  /// which may be one; returns when all calls have. `function` does not throw. In a child process, which has
  /// none of oneTBB's threads, all on the caller's.
  void run(Function* function, void* data);

 private:
  struct Pool;
  class Pin;
  int threads_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace wafer::inline v0
