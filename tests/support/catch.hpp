// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place that knows whether Catch2 is version 2 (Debian 12) or 3 (Debian 13).
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
// Version 3's name for a test on any substring.
inline auto ContainsSubstring(const std::string& part) { return Contains(part); }
}  // namespace Catch::Matchers
#endif

#include <string>

namespace wafer_test {

/// Marks the running test case as not run, which the closing line counts apart from passed and failed.
void mark_not_run(const std::string& reason);

}  // namespace wafer_test

/// Ends a test case that lacks data or a CPU feature: WAFER_NOT_RUN("no AVX-512"). Only in a
/// case's own body.
#define WAFER_NOT_RUN(reason)           \
  do {                                  \
    ::wafer_test::mark_not_run(reason); \
    SUCCEED();                          \
    return;                             \
  } while (false)
