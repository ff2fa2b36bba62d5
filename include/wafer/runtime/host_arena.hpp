// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wafer::inline v0 {

/// A host's own tbb::task_arena for a session to work in; `in(arena)` of wafer/bridge/tbb.hpp makes it. The
/// arena outlives the session.
struct HostArena {
  using Body = void(void* data);
  void* arena = nullptr;
  void (*execute)(void* arena, Body* body, void* data) = nullptr;  ///< calls body(data) in the arena
  int concurrency = 0;                                             ///< threads that the arena has room for
};

}  // namespace wafer::inline v0
