// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <optional>
#include <span>
#include <vector>

namespace wafer::inline v0 {

/// Something that needs bytes for a while. It takes [offset, offset + size + padding), where no other buffer
/// lies that lives at the same time.
struct PackBuffer {
  Index size = 0;            ///< bytes
  Index begin = 0, end = 0;  ///< lives on [begin, end) of any clock; nowhere where both are equal
  Index alignment = 1;       ///< its offset is a multiple of this
  Index padding = 0;         ///< bytes behind it that stay free
  std::optional<Index> offset = std::nullopt;  ///< where it has to lie; anywhere where not given
};

struct PackOptions {
  /// Bytes that are enough: the search ends when the height is no greater. Not given: as few as possible.
  std::optional<Index> capacity = std::nullopt;
  /// Limit of the work for each part, where the first heuristic falls short: about how often it may look at a
  /// buffer or a moment, 1.5 to 2 ns each. The result depends on it, never on a clock. Without a capacity all
  /// of it is spent on a part that does not reach its bound, several seconds by default; 10^7, some 20 ms,
  /// is mostly as good.
  Index effort = 4'000'000'000;
};

/// Offsets for a set of buffers.
struct Packing {
  std::vector<Index> offsets;  ///< of each buffer, in the order given
  Index height = 0;            ///< greatest offset + size + padding
  Index max_live = 0;          ///< greatest sum of size + padding alive at one time: no packing is lower
  bool optimal = false;        ///< proved: no packing is lower than `height`

  Index gap() const { return height - max_live; }

  /// Throws InternalError where two buffers that live at one time share a byte, an alignment, a fixed offset
  /// or a figure is wrong; UserError for buffers that pack() would not take. Knows nothing of how the offsets
  /// were found.
  void verify(std::span<const PackBuffer> buffers) const;
};

/// Packs any number of buffers (100 000 take seconds): first by heuristics, then, where these stay above the
/// bound, by a search with pruning, in each stretch of time (part) that no buffer crosses. The same result on
/// every machine. Throws UserError where a size, padding or alignment is negative (alignment: or zero), a
/// lifetime runs backwards, sizes add up to 2^63 or more, or fixed offsets are negative, misaligned or
/// overlap; CompileError where no packing within the capacity exists or none was found.
Packing pack(std::span<const PackBuffer> buffers, const PackOptions& options = {});

}  // namespace wafer::inline v0
