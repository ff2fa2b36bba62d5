// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>
#include <wafer/fabric/fabric.hpp>

namespace wafer::inline v0 {

namespace {

// Of rates (a second) and times (seconds): what lies beyond is a mistake, and would leave a double's range.
constexpr double kSlowest = 1, kFastest = 1e30, kLongest = 1000;

}  // namespace

Fabric Fabric::host() {
  Fabric fabric;
  fabric.name = "host";
  fabric.shared_memory = true;
  return fabric;
}

Fabric Fabric::mesh(Index rows, Index columns, MeshMemory memory) {
  Fabric fabric;
  fabric.name = "mesh " + std::to_string(rows) + "x" + std::to_string(columns);
  fabric.rows = rows;
  fabric.columns = columns;
  fabric.sram = memory.sram;
  fabric.dram = memory.dram;
  fabric.check();
  return fabric;
}

void Fabric::check() const {
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  if (rows < 1 || columns < 1) throw UserError("mesh: expected at least one row and one column, got " + size);
  if (checked_mul(rows, columns) > (Index{1} << 31))
    throw UserError("mesh: expected at most 2^31 blocks, got " + size);
  if (shared_memory && blocks() != 1) throw UserError("fabric: expected one block on a host, got " + size);
  if (shared_memory ? sram < 0 || dram < 0 : sram < 1 || dram < 1) {
    const std::string expected = shared_memory ? "host: expected sizes of SRAM and DRAM of at least 0, got "
                                               : "mesh: expected positive sizes of SRAM and DRAM, got ";
    throw UserError(expected + std::to_string(sram) + " and " + std::to_string(dram) + " bytes");
  }
  if (fast_memory < 1 || cache < 1) {
    throw UserError("fabric: expected fast_memory and cache of at least 1 byte, got " +
                    std::to_string(fast_memory) + " and " + std::to_string(cache));
  }
  for (const double rate : {flops, memory_rate, link_rate, fast_rate, far_rate}) {
    if (!(rate >= kSlowest && rate <= kFastest))
      throw UserError("fabric: expected rates from 1 to 1e30 a second, got " + std::to_string(rate));
  }
  for (const double seconds : {hop, setup}) {
    if (!(seconds >= 0 && seconds <= kLongest))
      throw UserError("fabric: expected times from 0 to 1000 seconds, got " + std::to_string(seconds));
  }
}

}  // namespace wafer::inline v0
