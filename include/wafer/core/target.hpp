// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace wafer::inline v0 {

/// The instruction set that compiled kernels use. `automatic` is the best one of this CPU; `portable` is
/// plain C++; sse4, avx2 and avx512 are for x86, neon for AArch64. avx2, avx512 and neon give the same bits.
/// portable and sse4 share a second result: they have no fused multiply-add and round a product before it is
/// added.
enum class KernelTarget : std::uint8_t { automatic, portable, sse4, avx2, avx512, neon };

/// The short name used in plans and messages: "automatic", "portable", "sse4", "avx2", "avx512", "neon".
constexpr std::string_view name_of(KernelTarget target) {
  switch (target) {
    case KernelTarget::automatic: return "automatic";
    case KernelTarget::portable: return "portable";
    case KernelTarget::sse4: return "sse4";
    case KernelTarget::avx2: return "avx2";
    case KernelTarget::avx512: return "avx512";
    case KernelTarget::neon: return "neon";
  }
  return "?";
}

}  // namespace wafer::inline v0
