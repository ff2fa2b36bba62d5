// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_search.hpp"

#include "catch.hpp"
#include "random.hpp"

#include <algorithm>
#include <vector>

using namespace wafer;

namespace {

bool holds(const FloorRectangle& r, Index row, Index column) {
  return row >= r.row && row < r.row + r.height && column >= r.column && column < r.column + r.width;
}

// The rectangle of most free cores, of equal ones the first by top, bottom and right; core by core.
FloorRectangle largest(const FloorRequest& request, const std::vector<FloorRectangle>& taken) {
  const auto is_free = [&](const FloorRectangle& r) {
    for (Index row = r.row; row < r.row + r.height; ++row) {
      for (Index column = r.column; column < r.column + r.width; ++column) {
        const auto here = [&](const FloorRectangle& other) { return holds(other, row, column); };
        if (std::any_of(request.faulty.begin(), request.faulty.end(), here)) return false;
        if (std::any_of(taken.begin(), taken.end(), here)) return false;
      }
    }
    return true;
  };
  FloorRectangle best;
  for (Index top = 0; top < request.rows; ++top) {
    for (Index bottom = top; bottom < request.rows; ++bottom) {
      for (Index right = 0; right < request.columns; ++right) {
        for (Index left = 0; left <= right; ++left) {
          const FloorRectangle r{top, left, bottom - top + 1, right - left + 1};
          if (r.height * r.width > best.height * best.width && is_free(r)) best = r;
        }
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("floor plan: regions are the largest free rectangles, one after the other") {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    FloorRequest request;
    request.rows = random.between(1, 7);
    request.columns = random.between(1, 7);
    request.kernels.resize(60);  // more than there are regions
    for (Index k = random.below(6); k > 0; --k) {
      const Index row = random.below(request.rows), column = random.below(request.columns);
      const Index height = random.between(1, request.rows - row);
      const Index width = random.between(1, request.columns - column);
      const bool small = random.below(3) > 0;
      request.faulty.push_back({row, column, small ? 1 : height, small ? 1 : width});
    }
    std::vector<FloorRectangle> expected;
    for (FloorRectangle r = largest(request, {}); r.height > 0; r = largest(request, expected))
      expected.push_back(r);
    std::sort(expected.begin(), expected.end(), [](const FloorRectangle& a, const FloorRectangle& b) {
      return a.row != b.row ? a.row < b.row : a.column < b.column;
    });
    REQUIRE(free_regions(request) == expected);
  }
}

TEST_CASE("floor plan: regions of a large mesh with a thousand single faults") {
  FloorRequest request;
  request.rows = request.columns = 4000;
  request.kernels.resize(30);
  for (Index k = 0; k < 1000; ++k) request.faulty.push_back({k * 4 + k % 3, (k * 1237) % 4000, 1, 1});
  const std::vector<FloorRectangle> regions = free_regions(request);
  CHECK(regions.size() == 30);
  for (const FloorRectangle& region : regions) {
    for (const FloorRectangle& fault : request.faulty) REQUIRE_FALSE(holds(region, fault.row, fault.column));
  }
}
