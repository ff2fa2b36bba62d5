// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/table.hpp"

#include "wafer/error.hpp"

#include <string>

namespace wafer::inline v0::kernels {

// Each topic's source defines its part for every target, in Highway's namespace of that target.
#define WAFER_TABLE_OF(NAMESPACE)        \
  namespace NAMESPACE {                  \
  void fill_gemm(Table& table);          \
  void fill_elementwise(Table& table);   \
  void fill_sums(Table& table);          \
  void fill_cross_entropy(Table& table); \
  void fill_updates(Table& table);       \
  static const Table& all() {            \
    static const Table table = [] {      \
      Table filled{};                    \
      fill_gemm(filled);                 \
      fill_elementwise(filled);          \
      fill_sums(filled);                 \
      fill_cross_entropy(filled);        \
      fill_updates(filled);              \
      return filled;                     \
    }();                                 \
    return table;                        \
  }                                      \
  }
WAFER_TABLE_OF(N_EMU128)
#if defined(__x86_64__)
WAFER_TABLE_OF(N_SSE4)
WAFER_TABLE_OF(N_AVX2)
WAFER_TABLE_OF(N_AVX3)
#elif defined(__aarch64__)
WAFER_TABLE_OF(N_NEON)
#endif

namespace {

const Table* table_of(KernelTarget target) {
  switch (target) {
    case KernelTarget::automatic: return table_of(best_target());
    case KernelTarget::portable: return &N_EMU128::all();
#if defined(__x86_64__)
    case KernelTarget::sse4: return &N_SSE4::all();
    case KernelTarget::avx2: return &N_AVX2::all();
    case KernelTarget::avx512: return &N_AVX3::all();
#elif defined(__aarch64__)
    case KernelTarget::neon: return &N_NEON::all();
#endif
    default: return nullptr;
  }
}

// By target; null where the CPU lacks it. The CPU is asked once, not for each call of a kernel.
using Tables = std::array<const Table*, static_cast<std::size_t>(KernelTarget::neon) + 1>;
Tables supported_tables() {
  Tables tables{};
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto target = static_cast<KernelTarget>(t);
    if (supports(target)) tables[t] = table_of(target);
  }
  return tables;
}

}  // namespace

const Table& table(KernelTarget target) {
  static const Tables tables = supported_tables();
  const auto t = static_cast<std::size_t>(target);
  if (t < tables.size() && tables[t] != nullptr) return *tables[t];
  throw UserError("kernel target " + std::string(name_of(target)) +
                  ": expected one that this CPU can run, best is " + std::string(name_of(best_target())));
}

}  // namespace wafer::inline v0::kernels
