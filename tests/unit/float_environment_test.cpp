// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/float_environment.hpp"

#include "catch.hpp"

#include <cfenv>
#include <cstdint>
#include <limits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

/// Results that are denormal become 0 on this thread. False where nobody knows how.
bool flush_denormals() {
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
  return true;
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | 1U << 24));
  return true;
#else
  return false;
#endif
}

float half_of_smallest() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5F;
}

bool rounds_to_nearest() {
  volatile float most_of_a_step = 0.75F * std::numeric_limits<float>::epsilon();
  return 1 + most_of_a_step > 1;
}

}  // namespace

TEST_CASE("a step's floats are the default ones, and the thread's own are back after it") {
  std::fenv_t before;
  REQUIRE(std::fegetenv(&before) == 0);
  REQUIRE(std::fesetround(FE_DOWNWARD) == 0);
  const bool flushes = flush_denormals();
  const float outside = half_of_smallest();
  float inside = 0;
  bool nearest_inside = false;
  {
    const wafer::DefaultFloats floats;
    inside = half_of_smallest();
    nearest_inside = rounds_to_nearest();
  }
  const float after = half_of_smallest();
  const bool nearest_after = rounds_to_nearest();
  std::fesetenv(&before);
  CHECK(inside == std::numeric_limits<float>::min() / 2);
  CHECK(nearest_inside);
  CHECK_FALSE(nearest_after);
  CHECK(after == outside);
  if (flushes) CHECK(outside == 0);
}
