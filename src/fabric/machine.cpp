// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>
#include <wafer/fabric/machine.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr double kLongest = 1e6;
constexpr int kMostPorts = 4, kMostColours = 256;

void expect_cycles(const char* what, double cycles, double least) {
  if (cycles >= least && cycles <= kLongest) return;
  throw UserError(std::string("machine: expected ") + what + " from " + std::to_string(least) +
                  " to 1000000 cycles, got " + std::to_string(cycles));
}

void expect_count(const char* what, int count, int most) {
  if (count >= 1 && count <= most) return;
  throw UserError(std::string("machine: expected 1 to ") + std::to_string(most) + " " + what + ", got " +
                  std::to_string(count));
}

}  // namespace

std::string text_of(Core core) {
  return "(" + std::to_string(core.row) + ", " + std::to_string(core.column) + ")";
}

std::string text_of(const CoreArea& area) {
  return std::to_string(area.rows) + " x " + std::to_string(area.columns) + " cores at " +
         text_of(Core{area.row, area.column});
}

bool Machine::faulty(Core core) const {
  return std::any_of(faults.begin(), faults.end(), [&](const CoreArea& area) { return area.contains(core); });
}

// Sources:
//   [H] "Near-Optimal Wafer-Scale Reduce", HPDC 2024, arXiv 2404.15888
//   [W] "WaferLLM", OSDI 2025, arXiv 2502.04563
//   [F] FABRICA, an independent characterisation of WSE-3, not peer-reviewed
//   [C] Cerebras' SDK documentation and examples
Machine Machine::wse2() {
  Machine machine;
  machine.name = "WSE-2";
  machine.rows = 750;        // [C] the greatest application rectangle of the SDK
  machine.columns = 994;     // [C]
  machine.clock = 0.85e9;    // [C] the SDK's formula; up to 1.1e9 by [W]
  machine.sram = 48 * 1024;  // [C]
  machine.link_cycles = 1;   // [H] a wavelet a cycle, each way
  machine.hop_cycles = 1;    // [H]
  machine.turn_cycles = 0;   // [H] has none
  machine.ramp_cycles = 2;   // [H] T_R
  machine.op_cycles = 1;     // [H] 2 T_R + 1 a stage
  machine.add_cycles = 1;    // [H] one f32 wavelet a cycle
  machine.ports = 1;         // [H] one ramp
  machine.colours = 24;      // [C]
  machine.link_queues = 24;  // [C] a queue for each colour
  return machine;
}

Machine Machine::wse3() {
  Machine machine;
  machine.name = "WSE-3";
  machine.rows = 762;           // [C, F] the fabric; what an application may use is not published
  machine.columns = 1172;       // [C, F]
  machine.clock = 0.85e9;       // [C]
  machine.sram = 44'976;        // [F] usable, of 49 152
  machine.link_cycles = 1.125;  // [F] 1.0 to 1.125 measured: the slower
  machine.hop_cycles = 2;       // [F]
  machine.turn_cycles = 20;     // [F] about
  machine.ramp_cycles = 2;      // as WSE-2 [H]; not published
  machine.op_cycles = 16;       // [F] vector set-up, 15 to 17 measured
  machine.add_cycles = 2;       // [F] 0.50 f32 operations a cycle
  machine.ports = 1;            // as WSE-2 [H]
  machine.colours = 24;         // [C] of which the host link uses 21 to 23
  machine.link_queues = 24;     // as WSE-2
  return machine;
}

Machine Machine::mesh(Index rows, Index columns) {
  Machine machine;
  machine.name = "mesh " + std::to_string(rows) + "x" + std::to_string(columns);
  machine.rows = rows;
  machine.columns = columns;
  machine.check();
  return machine;
}

void Machine::check() const {
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  if (rows < 1 || columns < 1)
    throw UserError("machine: expected at least one row and one column, got " + size);
  if (checked_mul(rows, columns) > kMostMeshCores)
    throw UserError("machine: expected at most 2^24 cores, got " + size);
  if (!(clock > 0)) throw UserError("machine: expected a clock above 0, got " + std::to_string(clock));
  expect_cycles("link_cycles", link_cycles, 1e-3);
  expect_cycles("hop_cycles", hop_cycles, 0);
  expect_cycles("turn_cycles", turn_cycles, 0);
  expect_cycles("ramp_cycles", ramp_cycles, 0);
  expect_cycles("op_cycles", op_cycles, 0);
  expect_cycles("add_cycles", add_cycles, 0);
  expect_count("ports", ports, kMostPorts);
  expect_count("colours", colours, kMostColours);
  expect_count("link_queues", link_queues, kMostColours);
  for (const CoreArea& area : faults) {
    const bool inside = area.row >= 0 && area.column >= 0 && area.rows >= 1 && area.columns >= 1 &&
                        area.row < rows && area.column < columns && area.rows <= rows - area.row &&
                        area.columns <= columns - area.column;
    if (!inside) throw UserError("machine: expected faulty cores on the mesh, got " + text_of(area));
  }
}

}  // namespace wafer::inline v0
