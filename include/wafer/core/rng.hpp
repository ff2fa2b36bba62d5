// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace wafer::inline v0 {

/// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As
/// Easy as 1, 2, 3" (SC'11): a pure function that turns a counter and a key into four random words. There is
/// no state, so any element of any stream is had at once, in any order and on any thread.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

/// Random word `element` of stream `stream` under `seed`. Elements 4i to 4i+3 are the words of one block
/// whose key is the seed and whose counter is (i, stream), low halves first.
std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t element);

/// Element `element` of a stream of uniform values in [0, 1): the top 24 bits of its word, so each of the
/// 2^24 multiples of 2^-24 is equally likely and exact.
float uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t element);

/// Element `element` of a stream of uniform integers in [0, bound), from a block of its own (64 bits, so no
/// value is favoured by more than bound * 2^-64). Throws UserError unless 1 <= bound <= 2^32.
Index uniform_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t element, Index bound);

/// Fills `values` with elements first, first+1, ... of a stream: low + (high - low) * uniform, each operation
/// rounded to f32, so that the result may round up to `high`. Equal to a call per element, only faster.
void fill_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, float low, float high,
                  std::span<float> values);

/// 64-bit FNV-1a of the bytes of `text` (constants of Fowler, Noll and Vo). Keys a stream by a name, such as
/// a parameter's path.
std::uint64_t hash_of(std::string_view text);

}  // namespace wafer::inline v0
