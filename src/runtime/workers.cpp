// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <sched.h>
#include <unistd.h>

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

// Keeps oneTBB's own threads on one CPU each while they are in an arena, and gives them their old affinity
// back. The caller's thread, which has the arena's first place, is left alone.
class Workers::Pin : public tbb::task_scheduler_observer {
 public:
  Pin(tbb::task_arena& arena, int threads) : task_scheduler_observer(arena) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus_.push_back(cpu);
    }
    if (static_cast<std::size_t>(threads) > cpus_.size()) return;  // they have to share
    before_.resize(cpus_.size());
    observe(true);
  }
  ~Pin() override { observe(false); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  void on_scheduler_entry(bool is_worker) override {
    const std::size_t place = place_of(is_worker);
    if (place == 0 || sched_getaffinity(0, sizeof before_[place], &before_[place]) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus_[place], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  void on_scheduler_exit(bool is_worker) override {
    const std::size_t place = place_of(is_worker);
    if (place > 0) sched_setaffinity(0, sizeof before_[place], &before_[place]);
  }

 private:
  // Of the thread in the arena; 0 where it is not to be pinned.
  std::size_t place_of(bool is_worker) const {
    const int place = tbb::this_task_arena::current_thread_index();
    const bool pinned = is_worker && place > 0 && static_cast<std::size_t>(place) < before_.size();
    return pinned ? static_cast<std::size_t>(place) : 0;
  }

  std::vector<int> cpus_;
  std::vector<cpu_set_t> before_;  // affinity, by place in the arena
};

struct Workers::Pool {
  Pool(int threads, bool pin, const HostArena& of_host) : host(of_host) {
    if (host.arena != nullptr) return;
    expect_threads(threads - 1);
    using Control = tbb::global_control;
    if (threads > tbb::info::default_concurrency())
      more.emplace(Control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    // A host may have set a lower limit. oneTBB would print a warning if it were asked for more.
    const std::size_t limit = Control::active_value(Control::max_allowed_parallelism);
    arena.initialize(std::min(threads, static_cast<int>(limit)));
    if (pin) pinned.emplace(arena, threads);
  }

  // oneTBB counts on its threads, which a child process does not have.
  bool has_threads() const { return getpid() == process; }

  void execute(HostArena::Body* body, void* data) {
    if (host.arena != nullptr) return host.execute(host.arena, body, data);
    arena.execute([=] { body(data); });
  }

  const pid_t process = getpid();
  HostArena host;
  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
  std::optional<Pin> pinned;
};

Workers::Workers(int threads, bool pin, const HostArena& arena) : threads_(threads) {
  if (threads > 1 || arena.arena != nullptr) pool_ = std::make_unique<Pool>(threads, pin, arena);
  // TBB's own memory grows now, not in the first step.
  for (int k = 0; k < 4; ++k) run([](void*, int) {}, nullptr);
}

Workers::~Workers() {
  if (pool_ && !pool_->has_threads())
    static_cast<void>(pool_.release());  // what is locked there stays locked
}

void Workers::run(Function* function, void* data) {
  if (!pool_) return function(data, 0);
  if (!pool_->has_threads()) {
    for (int w = 0; w < threads_; ++w) function(data, w);
    return;
  }
  // What a host cancels is no part of a step.
  tbb::task_group_context context(tbb::task_group_context::isolated);
  struct Call {
    Function* function;
    void* data;
    int threads;
    tbb::task_group_context& context;
    // A kernel may use oneTBB itself. While it waits for its own tasks it must not be given another worker to
    // run on top of itself, which would wait for it.
    void alone(int worker) const {
      tbb::this_task_arena::isolate([this, worker] { function(data, worker); });
    }
    // By halves, so that a caller's stack need not be deep; the caller's own is the first. parallel_invoke
    // keeps its two tasks on the stack. A tbb::task_group would take them from a pool, which grows in any
    // step that begins before another thread has given back the last one's.
    void run(int begin, int end) const {
      if (end - begin == 1) return alone(begin);
      const int middle = begin + (end - begin) / 2;
      tbb::parallel_invoke([&] { run(middle, end); }, [&] { run(begin, middle); }, context);
    }
  } call{function, data, threads_, context};
  pool_->execute(
      [](void* of) {
        const auto& all = *static_cast<const Call*>(of);
        all.run(0, all.threads);
      },
      &call);
}

}  // namespace wafer::inline v0
