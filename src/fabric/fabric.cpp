// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>
#include <wafer/fabric/fabric.hpp>

namespace wafer::inline v0 {

Fabric Fabric::host() {
  Fabric fabric;
  fabric.name = "host";
  fabric.shared_memory = true;
  return fabric;
}

Fabric Fabric::mesh(Index rows, Index columns, MeshMemory memory) {
  if (rows < 1 || columns < 1) {
    throw UserError("mesh: expected at least one row and one column, got " + std::to_string(rows) + " x " +
                    std::to_string(columns));
  }
  if (checked_mul(rows, columns) > (Index{1} << 31)) {
    throw UserError("mesh: expected at most 2^31 blocks, got " + std::to_string(rows) + " x " +
                    std::to_string(columns));
  }
  if (memory.sram < 1 || memory.dram < 1) {
    throw UserError("mesh: expected positive sizes of SRAM and DRAM, got " + std::to_string(memory.sram) +
                    " and " + std::to_string(memory.dram) + " bytes");
  }
  Fabric fabric;
  fabric.name = "mesh " + std::to_string(rows) + "x" + std::to_string(columns);
  fabric.rows = rows;
  fabric.columns = columns;
  fabric.sram = memory.sram;
  fabric.dram = memory.dram;
  return fabric;
}

}  // namespace wafer::inline v0
