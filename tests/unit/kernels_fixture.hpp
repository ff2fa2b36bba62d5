// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/core/target.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/table.hpp"

/// A case for each target of this family of CPUs, named kTarget; on a CPU that lacks it the case is not run.
#if defined(__aarch64__)
#define WAFER_TARGETS wafer::KernelTarget::portable, wafer::KernelTarget::neon
#else
#define WAFER_TARGETS                                                                  \
  wafer::KernelTarget::portable, wafer::KernelTarget::sse4, wafer::KernelTarget::avx2, \
      wafer::KernelTarget::avx512
#endif
#define WAFER_KERNEL_CASE(name) \
  TEMPLATE_TEST_CASE_SIG(name, "[kernels]", ((wafer::KernelTarget kTarget), kTarget), WAFER_TARGETS)

/// First line of such a case: `table` is the target's.
#define WAFER_KERNEL_TABLE()                                                                           \
  if (!wafer::kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(wafer::name_of(kTarget))); \
  const wafer::kernels::Table& table = wafer::kernels::table(kTarget)

namespace wafer_test {

using wafer::Index;
using wafer::KernelTarget;
using Floats = std::vector<float>;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Small random numbers of both signs, the same in every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(seed * 2654435761U + 1) {}
  std::uint32_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(bits() >> 8) * 0x1p-24F;
  }
  Floats floats(Index n, float low = -1, float high = 1) {
    Floats values(static_cast<std::size_t>(n));
    for (float& value : values) value = uniform(low, high);
    return values;
  }

 private:
  std::uint32_t state_;
};

/// Scratch of a matrix product, aligned as kernels want it.
struct Scratch {
  struct alignas(64) Line {
    float floats[16];
  };
  std::vector<Line> lines{static_cast<std::size_t>(wafer::kernels::kGemmScratchBytes) / sizeof(Line)};
  float* data() { return lines.data()->floats; }
};

/// Equal bits, any NaN being equal to any other.
inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return false;
  }
  return true;
}

/// Goes on with a hash (FNV-1a over words) of bits, any NaN being equal to any other.
inline std::uint64_t hash_of(const Floats& values, std::uint64_t hash = 14695981039346656037ULL) {
  for (const float value : values)
    hash = (hash ^ std::bit_cast<std::uint32_t>(std::isnan(value) ? kNan : value)) * 1099511628211ULL;
  return hash;
}

inline double relative_error(float actual, double expected) {
  return std::abs(static_cast<double>(actual) / expected - 1);
}

/// Floats between a and b, over zero too; NaN is equal to NaN and far from all else.
inline std::int64_t distance_in_ulps(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : std::int64_t{1} << 32;
  const auto order = [](float x) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(x));
    return bits < 0x80000000LL ? bits : 0x80000000LL - bits;
  };
  return std::abs(order(a) - order(b));
}

}  // namespace wafer_test
