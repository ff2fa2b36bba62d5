// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/hazards.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace wafer;

namespace {

Access read(Index begin, Index end, bool all = false) { return {Space::dram, begin, end, false, all}; }
Access write(Index begin, Index end, bool all = false) { return {Space::dram, begin, end, true, all}; }

}  // namespace

TEST_CASE("hazards: a reader waits for the writer, a writer for readers") {
  const std::vector<Waits> w =
      find_waits({{write(0, 64)}, {read(0, 64), write(64, 128)}, {write(0, 64)}}, 0, 0, 3, false);
  CHECK(w[0].own == -1);
  CHECK(w[1].own == 0);
  CHECK(w[2].own == 1);
}

TEST_CASE("hazards: readers of one value do not wait for each other") {
  const std::vector<Waits> w =
      find_waits({{write(0, 64)}, {read(0, 64)}, {read(0, 32)}, {read(32, 64)}}, 0, 0, 4, false);
  CHECK(w[1].own == 0);
  CHECK(w[2].own == 0);
  CHECK(w[3].own == 0);
}

TEST_CASE("hazards: an op in place does not wait for itself") {
  const std::vector<Waits> w = find_waits({{write(0, 64)}, {read(0, 64), write(0, 64)}}, 0, 0, 2, false);
  CHECK(w[1].own == 0);
}

TEST_CASE("hazards: accesses across blocks are waited for in all blocks") {
  const std::vector<Waits> w =
      find_waits({{write(0, 64)}, {read(0, 64, true)}, {write(0, 64)}}, 0, 0, 3, false);
  CHECK(w[1].all == 0);
  CHECK(w[2].own == 0);
  CHECK(w[2].all == 1);
}

TEST_CASE("hazards: a loop waits for the pass before") {
  // Body: action 1 writes what action 2 reads; the next pass must not overwrite it before.
  const std::vector<Waits> w =
      find_waits({{write(64, 128)}, {write(0, 64)}, {read(0, 64)}, {read(0, 64)}}, 1, 3, 4, true);
  CHECK(w[1].own == -1);
  CHECK(w[1].own_before == 2);
  CHECK(w[2].own == 1);
  CHECK(w[3].own == 1);
}

TEST_CASE("hazards: a commit waits for everything before it") {
  const std::vector<Waits> w =
      find_waits({{write(0, 64)}, {write(64, 128)}, {write(128, 192)}}, 0, 0, 2, false);
  CHECK(w[2].all == 1);
}

TEST_CASE("hazards: random programs against every pair") {
  std::uint32_t random = 7;
  const auto next = [&](std::uint32_t limit) {
    return ((random = random * 1664525U + 1013904223U) >> 8) % limit;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<Access>> program(20);
    for (auto& accesses : program) {
      for (std::uint32_t k = 0; k < 1 + next(3); ++k) {
        const auto begin = static_cast<Index>(next(16));
        accesses.push_back(
            {Space::dram, begin, begin + static_cast<Index>(next(5)), next(2) == 0, next(4) == 0});
      }
    }
    const std::vector<Waits> waits = find_waits(program, 0, 0, 20, false);
    for (std::size_t later = 0; later < program.size(); ++later) {
      std::int32_t own = -1, all = -1;
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        for (const Access& a : program[earlier]) {
          for (const Access& b : program[later]) {
            const bool solid = a.begin < a.end && b.begin < b.end;
            const bool meet = solid && a.begin < b.end && b.begin < a.end && (a.write || b.write);
            if (meet) (a.all || b.all ? all : own) = static_cast<std::int32_t>(earlier);
          }
        }
      }
      // Waiting for a later action than asked is fine only where a third access stands between; never for an
      // earlier.
      CHECK(std::max(waits[later].own, waits[later].all) >= std::max(own, all));
      CHECK(waits[later].all >= -1);
      CHECK(std::max(waits[later].own, waits[later].all) < static_cast<std::int32_t>(later));
    }
  }
}
