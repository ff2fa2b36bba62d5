// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "bits.hpp"

#include "catch.hpp"

// Twelve plans of the 160 that bench_bits runs, for each optimizer.
TEST_CASE("every plan gives the same bits") {
  for (const bool adamw : {false, true}) {
    const std::vector<bits::Case> cases = bits::chosen_cases(adamw);
    const bits::Outcome expected = bits::run_case(cases[0], 3);
    CHECK(expected.loss > 0);
    for (const bits::Case& c : cases) {
      INFO(c.text());
      const bits::Outcome o = bits::run_case(c, 3);
      CHECK(o.hash == expected.hash);
      CHECK(o.loss == expected.loss);
      CHECK(o.threads == c.threads);
      if (c.rows * c.columns > 1) CHECK(o.moved_bytes > 0);
      if (!c.batch.empty()) CHECK(o.cuts.find("batch over " + c.batch) != std::string::npos);
      if (!c.feature.empty()) CHECK(o.cuts.find("feature over " + c.feature) != std::string::npos);
    }
  }
}

// The same constants for every compiler, version of the packages and CPU.
TEST_CASE("each kernel target gives the bits of its kind: with fused multiply-add, or without") {
  for (const bool adamw : {false, true}) {
    for (const bool fused : {false, true}) {
      for (const wafer::KernelTarget target : bits::targets(fused)) {
        bits::Case c;
        c.adamw = adamw;
        c.target = target;
        INFO(c.text());
        const std::uint64_t expected = fused ? (adamw ? 0x1d8abe5550124810 : 0x5f5fb8ce34ad0693)
                                             : (adamw ? 0x6914645c3b0dc0c3 : 0x98b88a81dce2c691);
        CHECK(bits::run_case(c, 3).hash == expected);
      }
    }
  }
}
