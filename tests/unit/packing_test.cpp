// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/packing.hpp"
#include "catch.hpp"

#include <wafer/core/range.hpp>

#include <cstdint>
#include <vector>

using namespace wafer;

namespace {

// No two items that live at one time share a byte; returns the greatest end.
Index height_of(const std::vector<PackItem>& items) {
  Index height = 0;
  for (std::size_t a = 0; a < items.size(); ++a) {
    height = std::max(height, items[a].offset + items[a].bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = items[a].first <= items[b].last && items[b].first <= items[a].last;
      const bool apart = items[a].offset + items[a].bytes <= items[b].offset ||
                         items[b].offset + items[b].bytes <= items[a].offset || items[a].bytes == 0 ||
                         items[b].bytes == 0;
      if (together && !apart) return -1;
    }
  }
  return height;
}

}  // namespace

TEST_CASE("packing: buffers that never meet share memory") {
  std::vector<PackItem> items{{0, 1, 128, 0}, {2, 3, 128, 0}, {4, 5, 64, 0}};
  CHECK(pack(items) == 128);
  CHECK(height_of(items) == 128);
}

TEST_CASE("packing: a gap is used") {
  // Two long ones with a short one between them in time.
  std::vector<PackItem> items{{0, 9, 256, 0}, {0, 4, 64, 0}, {5, 9, 64, 0}};
  CHECK(pack(items) == 320);
  CHECK(height_of(items) == 320);
}

TEST_CASE("packing: empty sets and empty buffers") {
  std::vector<PackItem> none;
  CHECK(pack(none) == 0);
  std::vector<PackItem> empty{{0, 1, 0, 0}, {0, 1, 0, 0}};
  CHECK(pack(empty) == 0);
}

TEST_CASE("packing: random sets, few and many, are never overlapping nor below the live bound") {
  std::uint32_t random = 1;
  const auto next = [&](std::uint32_t limit) { return (random = random * 1664525U + 1013904223U) % limit; };
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{3500}}) {
    std::vector<PackItem> items(count);
    for (PackItem& item : items) {
      item.first = static_cast<std::int32_t>(next(200));
      item.last = item.first + static_cast<std::int32_t>(next(20));
      item.bytes = static_cast<Index>(next(50)) * 64;
    }
    const Index height = pack(items);
    CHECK(height_of(items) == height);
    Index live = 0;
    for (std::int32_t t = 0; t < 220; ++t) {
      Index now = 0;
      for (const PackItem& item : items) now += item.first <= t && t <= item.last ? item.bytes : 0;
      live = std::max(live, now);
    }
    CHECK(height >= live);
  }
}

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
