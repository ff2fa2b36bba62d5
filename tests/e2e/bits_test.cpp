// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "bits.hpp"

#include "catch.hpp"

#include <vector>

// Twelve plans of the 160 that bench_bits runs, for each optimizer.
TEST_CASE("every plan gives the same bits") {
  for (const bool adamw : {false, true}) {
    const std::vector<bits::Case> cases{
        {adamw, 0, 0, "", "", 1, 1},
        {adamw, 0, 0, "", "", 8, 3},
        {adamw, 1, 1, "", "", 2, 2},
        {adamw, 2, 2, "rows", "columns", 1, 1},
        {adamw, 2, 2, "columns", "rows", 4, 8},
        {adamw, 2, 2, "", "columns", 1, 2},
        {adamw, 2, 2, "rows", "", 2, 3},
        {adamw, 4, 4, "rows", "columns", 8, 2},
        {adamw, 1, 7, "columns", "", 1, 3},
        {adamw, 1, 7, "", "columns", 8, 1},
        {adamw, 7, 1, "rows", "", 4, 2},
        {adamw, 3, 5, "rows", "columns", 3, 8},
    };
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
