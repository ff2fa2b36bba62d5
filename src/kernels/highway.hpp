// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// How Highway is used, for every source of this folder; include before any header of Highway. A source is
// compiled once per target (<hwy/foreach_target.h> includes it again) and nothing of libhwy is linked: the
// targets are those below that the compiler's CPU family has, and table() chooses among them.
#pragma once

#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_EMU128))
#define HWY_COMPILE_ALL_ATTAINABLE  // the same targets whatever flags the whole library is compiled with

// Highway avoids its portable target before GCC 12.3 for a fault in 16-bit high products
// (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=106322), which no kernel here uses.
#define HWY_BROKEN_EMU128 0

// Instructions that no kernel uses, so that supports() need not ask for them.
#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_F16C
