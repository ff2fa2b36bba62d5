// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/placement.hpp>
#include <wafer/error.hpp>

namespace wafer::inline v0 {

Placement place_group(const Partition& partition, const Fabric& fabric) {
  Placement placement;
  placement.group.rows = partition.parts[0];
  placement.group.columns = partition.parts[1];
  if (placement.group.rows > fabric.rows || placement.group.columns > fabric.columns) {
    throw CompileError("place: expected a group of at most " + std::to_string(fabric.rows) + " x " +
                       std::to_string(fabric.columns) + " blocks, got " +
                       std::to_string(placement.group.rows) + " x " +
                       std::to_string(placement.group.columns));
  }
  placement.group.row = (fabric.rows - placement.group.rows) / 2;
  placement.group.column = 0;
  placement.idle_blocks = fabric.blocks() - placement.group.blocks();
  return placement;
}

void Placement::verify(const Fabric& fabric) const {
  const bool inside = group.row >= 0 && group.column >= 0 && group.rows >= 1 && group.columns >= 1 &&
                      group.row + group.rows <= fabric.rows && group.column + group.columns <= fabric.columns;
  if (!inside) throw InternalError("a block group leaves the mesh");
  if (idle_blocks + group.blocks() != fabric.blocks()) throw InternalError("idle blocks are miscounted");
}

std::string Placement::dump() const {
  return "group at row " + std::to_string(group.row) + ", column " + std::to_string(group.column) + ": " +
         std::to_string(group.rows) + " x " + std::to_string(group.columns) + " blocks, idle " +
         std::to_string(idle_blocks) + "\n";
}

}  // namespace wafer::inline v0
