// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/fusion.hpp>
#include <wafer/core/tile.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// How buffers are stored: row-major, or one dimension of a matrix in panels of kPanel, each of which holds
/// all of the other dimension. Panels are what a product reads (of weights) and writes (gradients of them),
/// so that nothing has to be packed in a step.
struct Layout {
  std::vector<std::int8_t> panelled;  ///< by buffer of the communication plan: the dimension, or -1
  /// By buffer: only one action makes and reads it, piece by piece of its tiles, out of operands that stay in
  /// cache. Such a buffer need not be larger than a tile, and its tiles are small.
  std::vector<bool> in_tile;
  /// By buffer: elements of memory that are left free behind each row, so that rows do not lie a multiple of
  /// 4096 bytes apart. Those would share a few places of the L1 cache.
  std::vector<Index> gap;

  bool has_panels() const {
    return std::any_of(panelled.begin(), panelled.end(), [](std::int8_t dim) { return dim >= 0; });
  }
  /// The factor of an op that is in panels in some of its operands, -1 for none.
  int panel_factor(const Step& step, const StepFactors& factors, const Communication& communication,
                   std::size_t program, std::uint32_t op) const;
  /// Throws InternalError where a buffer in panels is no matrix that may be, and where an op or a tail meets
  /// panels that its kernel does not take, and that its tiles cannot be cut into.
  void verify(const Step& step, const StepFactors& factors, const Communication& communication,
              const Fusion& fusion) const;
  /// Panels and gaps; what is kept in a tile stands in the dump of the memory plan, which decides.
  std::string dump(const Step& step, const Communication& communication) const;
};

/// On a host; all row-major and dense elsewhere. Panels, unless not asked for: for weights that products
/// read, and for the gradients and optimizer state that are updated with them, where each op that touches one
/// of these takes panels or can be cut between them.
Layout choose_layout(const Step& step, const StepFactors& factors, const Communication& communication,
                     const Fusion& fusion, const Fabric& fabric, bool panels);

/// Where the elements of a buffer lie.
struct Storage {
  std::vector<Stride> strides;  ///< of its dimensions
  Index elements = 0;           ///< of memory, gaps included
};
/// Throws UserError where the elements cannot be counted.
Storage lay_out(std::span<const Index> extents, int panelled, Index gap);

}  // namespace wafer::inline v0
