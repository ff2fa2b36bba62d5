// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/packer.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// Buffers of a stretch of time that no buffer crosses. Time is counted in sections, the intervals between
/// moments at which something begins or ends.
struct PackPart {
  struct Item {
    std::int32_t begin = 0, end = 0;  // sections, half-open
    Index size = 0;                   // with padding, positive
    Index alignment = 1;
    Index fixed = -1;   // offset, or -1
    double length = 0;  // of its life, by the buffers' clock
  };
  std::vector<Item> items;
  std::int32_t sections = 0;
  std::vector<Index> live;  // sum of sizes in each section
  Index unit = 1;           // divides all alignments, so every offset
  Index bound = 0;          // no packing is lower
  bool any_fixed = false;

  explicit PackPart(std::span<const PackBuffer> buffers);  // that live and have bytes
  Index height(std::span<const Index> offsets) const;
};

inline Index aligned(Index offset, Index alignment) {
  return alignment == 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

/// What items may be sorted by, the greatest first. `crowd` is the fullest section that an item lives in.
enum class PackKey : std::uint8_t { none, size, length, area, crowd, early, late };

/// The first key by which two items differ decides.
using PackRule = std::array<PackKey, 3>;

/// Rules worth trying, best ones first on the average.
inline constexpr std::array<PackRule, 7> kPackRules{{
    {PackKey::crowd, PackKey::length, PackKey::area},
    {PackKey::length, PackKey::area, PackKey::crowd},
    {PackKey::crowd, PackKey::area, PackKey::length},
    {PackKey::early, PackKey::length, PackKey::size},
    {PackKey::late, PackKey::early, PackKey::none},
    {PackKey::size, PackKey::length, PackKey::none},
    {PackKey::area, PackKey::length, PackKey::none},
}};

/// Sorts `items` by a rule; `crowd` has one number for each of them.
void sort_by(const PackRule& rule, const PackPart& part, std::span<const Index> crowd,
             std::vector<std::int32_t>& items);

/// A sequence in which to place all items: fixed ones first.
using PackOrder = std::vector<std::int32_t>;
std::vector<PackOrder> pack_orders(const PackPart& part);

/// Places one after the other, each into the tightest gap that it fits. Quadratic; gives up (returns nothing)
/// when it gets as high as `limit`.
std::optional<std::vector<Index>> pack_tightest(const PackPart& part, const PackOrder& order, Index limit);

/// Places on top of what lies beneath, always the item that comes to lie lowest; the order breaks ties. Gives
/// up when it gets as high as `limit`, or when `tries`, which each change of an item's place takes one off,
/// are used up.
std::optional<std::vector<Index>> pack_lowest(const PackPart& part, const PackOrder& order, Index limit,
                                              Index& tries);

/// Places in order of time as an allocator would, best fit. For any number of items without fixed offsets.
std::vector<Index> pack_by_time(const PackPart& part);

/// Throws UserError as pack().
void check_buffers(std::span<const PackBuffer> buffers);

/// Two buffers of `which` that live at one time and share a byte, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const PackBuffer> buffers,
                                                                std::span<const Index> offsets,
                                                                std::span<const std::size_t> which);

}  // namespace wafer::inline v0
