// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <optional>

// Built without the thread sanitizer, which cannot see into Debian's oneTBB. Everything that workers share is
// passed through atomics of our own (see the executor), so nothing is hidden by that.
namespace wafer::inline v0 {

struct Workers::Pool {
  explicit Pool(int threads) {
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
