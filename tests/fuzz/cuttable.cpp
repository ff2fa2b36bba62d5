// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "cuttable.hpp"

#include <algorithm>

namespace fuzz {

using namespace wafer;

bool allows_micro_batches(const Step& step) {
  return std::all_of(step.programs.begin(), step.programs.end(), [](const Program& program) {
    return program.whole_batch == kNone || program.assignments.empty();
  });
}

Index batch_extent(const Step& step) {
  Index least = 0;
  for (const Program& program : step.programs) {
    if (program.batch_axis < 0) continue;
    const Index extent = step.graph->axes[static_cast<std::size_t>(program.batch_axis)].extent;
    least = least == 0 ? extent : std::min(least, extent);
  }
  return least;
}

int batch_of(const Step& step) {
  int axis = -1;
  for (const Program& program : step.programs) {
    if (program.batch_axis >= 0 && axis >= 0 && program.batch_axis != axis) return -1;
    axis = std::max(axis, program.batch_axis);
  }
  return axis;
}

bool is_batch(const Step& step, int axis) {
  return std::any_of(step.programs.begin(), step.programs.end(),
                     [&](const Program& program) { return axis >= 0 && program.batch_axis == axis; });
}

std::vector<FactorClass> feature_classes(const Step& step, const StepFactors& factors) {
  std::vector<FactorClass> out;
  for (const FactorClass& of : factors.classes) {
    const int axis = step.graph->values[of.value].axes[static_cast<std::size_t>(of.dim)];
    if (of.uniform && of.flops > 0 && of.extent / of.unit >= 2 && !is_batch(step, axis)) out.push_back(of);
  }
  return out;
}

Index blocks(const Fabric& fabric, Mesh direction) {
  return direction == Mesh::rows ? fabric.rows : fabric.columns;
}

Mesh other(Mesh direction) { return direction == Mesh::rows ? Mesh::columns : Mesh::rows; }

}  // namespace fuzz
