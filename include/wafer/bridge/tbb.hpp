// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/runtime/host_arena.hpp>

#include <oneapi/tbb/task_arena.h>

namespace wafer::inline v0 {

/// Session{executable, {.arena = in(arena)}}: the session's workers are threads of a host's own arena, which
/// are as many as that grants, and are never pinned. The arena outlives the session. (oneTBB itself warns on
/// standard error of an arena for more threads than there are CPUs.)
inline HostArena in(tbb::task_arena& arena) {
  return {&arena,
          [](void* host, HostArena::Body* body, void* data) {
            static_cast<tbb::task_arena*>(host)->execute([=] { body(data); });
          },
          arena.max_concurrency()};
}

}  // namespace wafer::inline v0
