// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/table.hpp"

namespace wafer::inline v0::kernels {

// The compiler's own detection asks the CPU (cpuid) and whether the operating system saves the wide registers
// (xgetbv). The features are those that Highway lets the compiler use for the target, and kernels do.
bool supports(KernelTarget target) {
  switch (target) {
    case KernelTarget::automatic:
    case KernelTarget::portable: return true;
#if defined(__x86_64__)
    case KernelTarget::sse4:
      return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
             __builtin_cpu_supports("sse4.2");
    case KernelTarget::avx2:
      return supports(KernelTarget::sse4) && __builtin_cpu_supports("avx") &&
             __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    case KernelTarget::avx512:
      return supports(KernelTarget::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#elif defined(__aarch64__)
    case KernelTarget::neon: return true;  // a part of every such CPU
#endif
    default: return false;
  }
}

bool fuses(KernelTarget target) {
  if (target == KernelTarget::automatic) return fuses(best_target());
  return target != KernelTarget::portable && target != KernelTarget::sse4;
}

KernelTarget best_target() {
  for (const KernelTarget target :
       {KernelTarget::neon, KernelTarget::avx512, KernelTarget::avx2, KernelTarget::sse4}) {
    if (supports(target)) return target;
  }
  return KernelTarget::portable;
}

}  // namespace wafer::inline v0::kernels
