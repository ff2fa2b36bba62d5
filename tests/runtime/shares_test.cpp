// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/shares.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

using namespace wafer;

namespace {

std::vector<std::uint32_t> taken(Shares& shares, std::size_t action, std::uint32_t tiles,
                                 std::uint32_t worker, std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(shares.take(action, tiles, worker));
  return out;
}

}  // namespace

TEST_CASE("A worker takes its own share in order, and then the next worker's") {
  Shares shares(2, 3);
  using Tiles = std::vector<std::uint32_t>;
  // 7 tiles of three workers: 0 1, 2 3, 4 5 6.
  CHECK(taken(shares, 1, 7, 1, 1) == Tiles{2});
  CHECK(taken(shares, 1, 7, 2, 4) == Tiles{4, 5, 6, 0});
  CHECK(taken(shares, 1, 7, 1, 2) == Tiles{3, 1});
  // Actions do not know of each other; two tiles of three workers leave the first one none of its own.
  CHECK(taken(shares, 0, 2, 0, 2) == Tiles{0, 1});
  shares.reset(1, 1);
  CHECK(taken(shares, 1, 7, 1, 2) == Tiles{2, 3});
}

TEST_CASE("Each tile is taken once, whatever the workers' pace") {
  constexpr std::uint32_t kTiles = 1009, kWorkers = 5;
  Shares shares(1, static_cast<int>(kWorkers));
  std::atomic<std::uint32_t> tickets{0};
  std::vector<std::vector<std::uint32_t>> own(kWorkers);
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      while (tickets.fetch_add(1) < kTiles) own[w].push_back(shares.take(0, kTiles, w));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint32_t> all, expected(kTiles);
  for (const auto& tiles : own) all.insert(all.end(), tiles.begin(), tiles.end());
  std::sort(all.begin(), all.end());
  std::iota(expected.begin(), expected.end(), 0U);
  CHECK(all == expected);
}
