// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the source that has main(). oneTBB is not built with the thread sanitizer, which sees the calls of
// memset in it (Debian 13's has some), but not what orders them: such calls are left out of account.
#if defined(__SANITIZE_THREAD__)
#define WAFER_TEST_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAFER_TEST_THREAD_SANITIZER
#endif
#endif

#ifdef WAFER_TEST_THREAD_SANITIZER
extern "C" __attribute__((used, visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:libtbb.so\n";
}
#endif
