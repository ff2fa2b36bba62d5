// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <wafer/error.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// Built without the thread sanitizer, which cannot see into Debian's oneTBB. Everything that workers share is
// passed through atomics of our own (see the executor), so nothing is hidden by that.
namespace wafer::inline v0 {

namespace {

// oneTBB ends the process where the system refuses it a thread; so the system is asked first.
void expect_threads(int count) {
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  std::string reason;
  try {
    threads.reserve(static_cast<std::size_t>(count));
    while (static_cast<int>(threads.size()) < count) threads.emplace_back([&] { enough.wait(false); });
  } catch (const std::system_error& error) {
    reason = error.what();
  }
  enough.store(true);
  enough.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (reason.empty()) return;
  throw RunError("threads: expected " + std::to_string(count) + " from the system beside the caller's, got " +
                 std::to_string(threads.size()) + ": " + reason);
}

}  // namespace

struct Workers::Pool {
  explicit Pool(int threads) {
    expect_threads(threads - 1);
    using Control = tbb::global_control;
    if (threads > tbb::info::default_concurrency())
      more.emplace(Control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    // A host may have set a lower limit. oneTBB would print a warning if it were asked for more.
    const std::size_t limit = Control::active_value(Control::max_allowed_parallelism);
    arena.initialize(std::min(threads, static_cast<int>(limit)));
  }
  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
};

Workers::Workers(int threads) : threads_(threads) {
  if (threads > 1) pool_ = std::make_unique<Pool>(threads);
  // TBB's own memory grows now, not in the first step.
  for (int k = 0; k < 4; ++k) run([](void*, int) {}, nullptr);
}

Workers::~Workers() = default;

void Workers::run(Function* function, void* data) {
  if (!pool_) return function(data, 0);
  // A kernel may use oneTBB itself. While it waits for its own tasks it must not be given another worker to
  // run on top of itself, which would wait for it.
  const auto alone = [function, data](int worker) {
    tbb::this_task_arena::isolate([=] { function(data, worker); });
  };
  pool_->arena.execute([&] {
    tbb::task_group group;
    for (int w = 1; w < threads_; ++w) group.run([alone, w] { alone(w); });
    alone(0);
    group.wait();
  });
}

}  // namespace wafer::inline v0
