// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages.hpp"

#include <wafer/error.hpp>

#include <array>
#include <cstdio>

namespace wafer::inline v0 {

void Stages::verify(const Fabric& on) const {
  step.verify();
  partition.verify(step, factors);
  placement.verify(on);
  communication.verify(step, factors, partition);
  fusion.verify(step, factors);
  schedule.verify(step, communication);
  layout.verify(step, factors, communication, fusion);
  tiling.verify(step, factors, partition, communication, fusion, layout);
  memory.verify(step, communication, schedule);
}

namespace {

std::string with_unit(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %s", value, unit);
  return text;
}

std::string bytes_text(Index bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (bytes < 1024 * 1024) return with_unit(static_cast<double>(bytes) / 1024, "KiB");
  return with_unit(static_cast<double>(bytes) / (1024.0 * 1024.0), "MiB");
}

}  // namespace

std::string Stages::summary() const {
  Index weights = 0, state = 0;
  for (const VariableInfo& variable : step.graph->variables) {
    (variable.trained ? weights : state) += step.graph->values[variable.value].type.shape.size();
  }
  std::string out = "plan for " + fabric.name + "\n";
  out += "  parameters   " + std::to_string(weights) + ", optimizer state " + std::to_string(state) + "\n";
  out += "  blocks       " + std::to_string(placement.group.rows) + " x " +
         std::to_string(placement.group.columns) + " at row " + std::to_string(placement.group.row) +
         ", column " + std::to_string(placement.group.column) + "; idle " +
         std::to_string(placement.idle_blocks) + "\n";
  out += "  choices      " + partition.choices.text() + "\n";
  out += "  memory       ";
  if (!fabric.shared_memory) {
    out += "sram " + std::to_string(memory.sram_bytes) + " bytes (" + bytes_text(memory.sram_bytes) +
           ") a block, ";
  }
  out += "dram " + std::to_string(memory.dram_bytes) + " bytes (" + bytes_text(memory.dram_bytes) +
         "), scratch " + std::to_string(scratch_bytes) + " bytes a thread\n";
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    std::array<Index, kTransferKinds> kinds{};
    for (const Transfer& t : communication.programs[i].transfers) ++kinds[static_cast<std::size_t>(t.kind)];
    Index tiles = 0;
    for (const OpTiling& tiling_of : tiling.programs[i]) tiles += tiling_of.tiles();
    out += "  step '" + step.programs[i].name + "': " + std::to_string(step.programs[i].order.size()) +
           " ops, " + std::to_string(tiles) + " tiles a block, micro-batches " +
           std::to_string(schedule.programs[i].micro_batches);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[k] > 0)
        out += ", " + std::to_string(kinds[k]) + " " + std::string(name_of(static_cast<TransferKind>(k)));
    }
    out += "\n";
  }
  out += "  predicted    ";
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    out += "step '" + step.programs[i].name + "' " + with_unit(seconds[i] * 1e3, "ms") + ", ";
  }
  return out + (fabric.measured ? "by a cost model of measured rates\n" : "by an uncalibrated cost model\n");
}

std::string Stages::dump(std::string_view stage) const {
  if (stage == "step") return step.dump();
  if (stage == "partition") return partition.dump(step, factors);
  if (stage == "placement") return placement.dump();
  if (stage == "tiling") return tiling.dump(step);
  if (stage == "communication") return communication.dump(step);
  if (stage == "fusion") return fusion.dump(step);
  if (stage == "schedule") return schedule.dump(step, communication);
  if (stage == "layout") return layout.dump(step, communication);
  if (stage == "memory") return memory.dump(step, communication);
  throw UserError(
      "dump: expected one of step, partition, placement, tiling, communication, fusion, schedule, layout, "
      "memory, "
      "got '" +
      std::string(stage) + "'");
}

}  // namespace wafer::inline v0
