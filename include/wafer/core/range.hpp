// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace wafer::inline v0 {

/// A direction of the mesh as an index: 0 along rows of blocks, 1 along columns.
inline constexpr int kDirections = 2;

/// For each direction of the mesh: a dimension (or factor) that is cut along it, or -1.
using ValueCut = std::array<std::int8_t, kDirections>;
inline constexpr ValueCut kWhole{-1, -1};

/// Half-open range of indices.
struct Range {
  Index begin = 0, end = 0;
  Index size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Part `index` of `parts` of [0, extent): whole units, the first parts one unit longer where they do not
/// divide.
constexpr Range piece(Index index, Index parts, Index extent, Index unit = 1) {
  const Index units = extent / unit + (extent % unit != 0);
  const Index each = units / parts, longer = units % parts;
  const Index begin = index * each + std::min(index, longer);
  const Index end = begin + each + (index < longer ? 1 : 0);
  return {std::min(begin * unit, extent), std::min(end * unit, extent)};
}

/// How a dimension, or a factor of an op, is held by the blocks of a group and by micro-batches.
struct Division {
  Index extent = 0;            ///< greatest
  Index unit = 1;              ///< a cut falls on its multiples
  Index per = 1;               ///< indices for each index of the named axis
  std::int16_t axis = -1;      ///< the named axis it follows, which bounds it in a run
  std::int8_t direction = -1;  ///< of the mesh, along which it is cut
  bool micro = false;          ///< cut into micro-batches first
};

/// What divisions are resolved with: the block group and the micro-batches of one step.
struct Grid {
  std::array<Index, kDirections> parts{1, 1};
  Index micro_batches = 1;
};

/// A block of the group, in one micro-batch.
struct Place {
  std::array<Index, kDirections> block{0, 0};
  Index micro_batch = 0;
};

/// The indices that a place holds, in units of the division's own extent. `axes` are run-time extents.
inline Range range_of(const Division& d, const Grid& grid, const Place& place, std::span<const Index> axes) {
  if (d.per == 0) return {};  // a dimension without elements
  if (!d.micro && d.direction < 0 && d.axis < 0) return {0, d.extent};
  Range range{0, d.extent / d.per};
  if (d.micro) range = piece(place.micro_batch, grid.micro_batches, range.end);
  if (d.direction >= 0) {
    const auto dir = static_cast<std::size_t>(d.direction);
    const Range part = piece(place.block[dir], grid.parts[dir], range.size(), d.unit);
    range = {range.begin + part.begin, range.begin + part.end};
  }
  if (d.axis >= 0) {
    const Index bound = axes[static_cast<std::size_t>(d.axis)];
    range = {std::min(range.begin, bound), std::min(range.end, bound)};
  }
  return {range.begin * d.per, range.end * d.per};
}

/// Greatest size of that range over all places.
inline Index local_extent(const Division& d, const Grid& grid) {
  if (d.per == 0) return 0;
  Index extent = d.extent / d.per;
  if (d.micro) extent = piece(0, grid.micro_batches, extent).size();
  if (d.direction >= 0)
    extent = piece(0, grid.parts[static_cast<std::size_t>(d.direction)], extent, d.unit).size();
  return extent * d.per;
}

}  // namespace wafer::inline v0
