// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/progress.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace wafer::inline v0 {

// The kernel's own wait, since that of the C++ library yields before it sleeps.

void Progress::wake() {
  wakes_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

void Progress::sleep_while(std::uint32_t seen) {
  syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

}  // namespace wafer::inline v0
