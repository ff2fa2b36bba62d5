// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/rng.hpp>
#include <wafer/error.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

using namespace wafer;
using Words = std::array<std::uint32_t, 4>;

TEST_CASE("philox gives the known answers published with Random123") {
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // Counter and key are digits of pi.
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("words of a stream are the words of its blocks") {
  CHECK(random_word(0, 0, 0) == 0x6627e8d5);
  CHECK(random_word(0, 0, 3) == 0x9b00dbd8);
  const std::uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e, block = 0x05a308d3243f6a88;
  const Words words =
      philox4x32_10({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(random_word(seed, stream, block * 4 + i) == words[i]);
}

TEST_CASE("uniform takes the top 24 bits of its word") {
  CHECK(uniform(0, 0, 0) == static_cast<float>(0x6627e8) / 16777216.0f);
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const float value = uniform(7, 9, i);
    REQUIRE((value >= 0.0f && value < 1.0f));
    sum += value;
  }
  // Four standard deviations of the mean of 100 000 uniform values are 0.0037.
  CHECK(std::abs(sum / 100'000 - 0.5) < 0.0037);
}

TEST_CASE("seed, stream and element each make another value") {
  std::set<std::uint32_t> words;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (std::uint64_t stream : {0ull, 1ull, 1ull << 32})
      for (std::uint64_t element : {0ull, 1ull, 4ull, 1ull << 34})
        words.insert(random_word(seed, stream, element));
  CHECK(words.size() == 36);
}

TEST_CASE("fill_uniform equals one call per element from any start") {
  for (const std::uint64_t first : {0u, 1u, 2u, 3u, 4u, 1001u}) {
    std::vector<float> values(19);
    fill_uniform(3, 5, first, -0.25f, 0.5f, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == -0.25f + 0.75f * uniform(3, 5, first + i));
  }
}

TEST_CASE("uniform_below covers its range evenly and refuses an empty one") {
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70'000; ++i) ++counts[static_cast<std::size_t>(uniform_below(1, 2, i, 7))];
  // The standard deviation of a count is 92.6; five of them.
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 463);
  CHECK(uniform_below(1, 2, 3, 1) == 0);
  // 0xe169c58d6627e8d5 * 2^32 / 2^64 is the upper word.
  CHECK(uniform_below(0, 0, 0, Index{1} << 32) == 0xe169c58d);
  CHECK_THROWS_AS(uniform_below(1, 2, 3, 0), UserError);
  CHECK_THROWS_AS(uniform_below(1, 2, 3, (Index{1} << 32) + 1), UserError);
}

TEST_CASE("hash_of is FNV-1a") {
  CHECK(hash_of("") == 0xcbf29ce484222325);
  CHECK(hash_of("a") == 0xaf63dc4c8601ec8c);
  CHECK(hash_of("foobar") == 0x85944171f73967e8);
}
