// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/partition.hpp>

#include <string>

namespace wafer::inline v0 {

/// A rectangle of blocks.
struct Rectangle {
  Index row = 0, column = 0;  ///< of its first block
  Index rows = 1, columns = 1;
  Index blocks() const { return rows * columns; }
};

/// Where on the mesh the block group lies. All ops of a step share one group so far.
struct Placement {
  Rectangle group;
  Index idle_blocks = 0;

  /// Throws InternalError where the rectangle leaves the mesh.
  void verify(const Fabric& fabric) const;
  std::string dump() const;
};

/// Puts the group at the mesh's edge, where data is injected, in the middle of that edge: the ways from DRAM
/// are shortest. Throws CompileError where it does not fit.
Placement place_group(const Partition& partition, const Fabric& fabric);

}  // namespace wafer::inline v0
