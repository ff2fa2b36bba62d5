// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace wafer::inline v0 {

/// For as long as it lives, this thread rounds to nearest and keeps denormal numbers, whatever its host
/// chose: so a step's bits are the same on every thread.
class DefaultFloats {
 public:
#if defined(__SSE2__)
  DefaultFloats() : before_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~DefaultFloats() { _mm_setcsr(before_); }
#else
  DefaultFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before_); }
#endif
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kDefault = 0x1F80;  // all exceptions masked, nearest, no flush (x86 ABI, MXCSR)
  unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace wafer::inline v0
