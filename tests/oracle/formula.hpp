// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

// Initial weights that C++ and Python (formula.py) compute alike, bit for bit.
namespace oracle {

/// Integer hash "lowbias32" by Chris Wellons (public domain, github.com/skeeto/hash-prospector).
constexpr std::uint32_t hash32(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

/// Element `index` of a fixed sequence in [-bound, bound). Exact in f32 where `bound` is a power of two.
constexpr float value(std::uint32_t index, float bound) {
  const auto word = static_cast<std::int32_t>(hash32(index) >> 8);
  return static_cast<float>(word - (1 << 23)) * (bound * 0x1p-23f);
}

/// Elements offset, offset + 1, ...
inline std::vector<float> values(std::uint32_t offset, std::uint32_t count, float bound) {
  std::vector<float> result;
  for (std::uint32_t i = 0; i < count; ++i) result.push_back(value(offset + i, bound));
  return result;
}

/// A parameter of the MLP of mlp.py: weights are [out, in].
struct Parameter {
  const char* name;
  std::uint32_t rows;
  std::uint32_t columns;  ///< 0 for a bias, a vector of `rows`
  float bound;
  std::uint32_t offset;  ///< of its first element in the sequence

  std::uint32_t size() const { return columns == 0 ? rows : rows * columns; }
  std::vector<float> initial() const { return values(offset, size(), bound); }
};

inline constexpr Parameter kMlp[] = {
    {"fc1.weight", 512, 784, 0x1p-5f, 0},      {"fc1.bias", 512, 0, 0x1p-5f, 401408},
    {"fc2.weight", 512, 512, 0x1p-5f, 401920}, {"fc2.bias", 512, 0, 0x1p-5f, 664064},
    {"head.weight", 10, 512, 0x1p-4f, 664576}, {"head.bias", 10, 0, 0x1p-4f, 669696},
};

}  // namespace oracle
