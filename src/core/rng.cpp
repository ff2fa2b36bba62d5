// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/rng.hpp>
#include <wafer/error.hpp>

#include <string>

namespace wafer::inline v0 {
namespace {

constexpr std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

std::array<std::uint32_t, 4> block_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  return philox4x32_10({low_half(block), high_half(block), low_half(stream), high_half(stream)},
                       {low_half(seed), high_half(seed)});
}

constexpr float unit_interval(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  // The multipliers are the paper's; the key steps are the golden ratio and sqrt(3) - 1, times 2^32.
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kKeyStep0 = 0x9E3779B9, kKeyStep1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high_half(product1) ^ counter[1] ^ key[0], low_half(product1),
               high_half(product0) ^ counter[3] ^ key[1], low_half(product0)};
    key[0] += kKeyStep0;
    key[1] += kKeyStep1;
  }
  return counter;
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t element) {
  return block_of(seed, stream, element / 4)[element % 4];
}

float uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t element) {
  return unit_interval(random_word(seed, stream, element));
}

Index uniform_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t element, Index bound) {
  if (bound < 1 || bound > (Index{1} << 32))
    throw UserError("uniform_below: expected a bound from 1 to 2^32, got " + std::to_string(bound));
  // floor(random * bound / 2^64) without 128-bit arithmetic: the halves of the product fit since bound <=
  // 2^32.
  const auto words = block_of(seed, stream, element);
  const auto range = static_cast<std::uint64_t>(bound);
  const std::uint64_t carry = (words[0] * range) >> 32;
  return static_cast<Index>((words[1] * range + carry) >> 32);
}

void fill_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, float low, float high,
                  std::span<float> values) {
  const float width = high - low;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t element = first + i;
    if (i == 0 || element % 4 == 0) words = block_of(seed, stream, element / 4);
    values[i] = low + width * unit_interval(words[element % 4]);
  }
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace wafer::inline v0
