// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/range.hpp>

#include "catch.hpp"

#include <vector>

using namespace wafer;

TEST_CASE("range: pieces are equal or one shorter, and cover") {
  CHECK(piece(0, 4, 7) == Range{0, 2});
  CHECK(piece(2, 4, 7) == Range{4, 6});
  CHECK(piece(3, 4, 7) == Range{6, 7});
  CHECK(piece(1, 2, 130, 64) == Range{128, 130});
  CHECK(piece(0, 2, 130, 64) == Range{0, 128});
  CHECK(piece(0, 3, 0) == Range{0, 0});
  for (Index parts : {1, 2, 3, 7}) {
    for (Index extent : {0, 1, 6, 7, 64, 65}) {
      Index end = 0;
      for (Index i = 0; i < parts; ++i) {
        const Range r = piece(i, parts, extent);
        CHECK(r.begin == end);
        end = r.end;
      }
      CHECK(end == extent);
    }
  }
}

TEST_CASE("range: a division by micro-batches, blocks and a run-time extent") {
  Division d;
  d.extent = 128 * 3;  // three indices for each of a batch of 128
  d.per = 3;
  d.axis = 0;
  d.direction = 0;
  d.micro = true;
  const Grid grid{{4, 1}, 2};
  const std::vector<Index> full{128}, short_batch{70};
  // Micro-batch 1 holds rows 64..128, block 2 of 4 of these 96..112.
  CHECK(range_of(d, grid, Place{{2, 0}, 1}, full) == Range{288, 336});
  CHECK(range_of(d, grid, Place{{0, 0}, 1}, short_batch) == Range{192, 210});
  CHECK(range_of(d, grid, Place{{1, 0}, 1}, short_batch).size() == 0);
  CHECK(local_extent(d, grid) == 48);
}
