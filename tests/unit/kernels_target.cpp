// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>

#include "kernels_fixture.hpp"

using wafer::KernelTarget;
namespace kernels = wafer::kernels;

TEST_CASE("The best kernel target is one that runs, and automatic means it", "[kernels]") {
  CHECK(kernels::best_target() != KernelTarget::automatic);
  CHECK(kernels::supports(kernels::best_target()));
  CHECK(kernels::supports(KernelTarget::portable));
  CHECK(&kernels::table() == &kernels::table(kernels::best_target()));
  CHECK(&kernels::table(KernelTarget::portable) == &kernels::table(KernelTarget::portable));
}

TEST_CASE("A table is there for each supported target and refused for others", "[kernels]") {
  for (const KernelTarget target : kernels::kTargets) {
    if (kernels::supports(target)) {
      CHECK(kernels::table(target).gemm != nullptr);
      CHECK(kernels::table(target).adamw_update != nullptr);
    } else {
      CHECK_THROWS_AS(kernels::table(target), wafer::UserError);
    }
  }
}

TEST_CASE("Kernel targets have names", "[kernels]") {
  CHECK(wafer::name_of(KernelTarget::automatic) == "automatic");
  CHECK(wafer::name_of(KernelTarget::portable) == "portable");
  CHECK(wafer::name_of(KernelTarget::sse4) == "sse4");
  CHECK(wafer::name_of(KernelTarget::avx2) == "avx2");
  CHECK(wafer::name_of(KernelTarget::avx512) == "avx512");
  CHECK(wafer::name_of(KernelTarget::neon) == "neon");
}
