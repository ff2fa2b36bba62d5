// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <optional>

// Built without the thread sanitizer, which cannot see into Debian's oneTBB. Everything that workers share is
// passed through atomics of our own (see the executor), so nothing is hidden by that.
namespace wafer::inline v0 {

struct Workers::Pool {
  explicit Pool(int threads) : arena(threads) {
    if (threads > tbb::info::default_concurrency()) {
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
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
  pool_->arena.execute([&] {
    tbb::task_group group;
    for (int w = 1; w < threads_; ++w) group.run([function, data, w] { function(data, w); });
    function(data, 0);
    group.wait();
  });
}

}  // namespace wafer::inline v0
