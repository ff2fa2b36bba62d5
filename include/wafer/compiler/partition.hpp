// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/choices.hpp>
#include <wafer/compiler/factors.hpp>
#include <wafer/core/range.hpp>
#include <wafer/fabric/fabric.hpp>

#include <array>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// Which factors of each op are cut, and hence how each value lies when it is produced.
struct ProgramPartition {
  std::vector<ValueCut> factor;    ///< of each op: its local factor cut along each direction, or -1
  std::vector<std::int8_t> chain;  ///< of each op: the direction along which it passes a sum on, or -1
  std::vector<ValueCut> produced;  ///< of each value of the graph
};

/// The cuts of a whole step. The block group is the same for all ops: parts[0] x parts[1] blocks.
struct Partition {
  Choices choices;
  std::array<Index, kDirections> parts{1, 1};
  std::uint32_t feature_class = kNone;
  Index feature_unit = 1;
  std::vector<ProgramPartition> programs;

  /// Throws InternalError where an op is cut in a factor that cannot be, or variables differ between steps.
  void verify(const Step& step, const StepFactors& factors) const;
  /// One line for each op that is cut.
  std::string dump(const Step& step, const StepFactors& factors) const;
};

/// Cuts the batch wherever it can be, and the feature factor where that costs least (a minimum cut between
/// ops that are cut and ops that are not). Throws CompileError where the choices ask for what cannot be cut.
Partition partition_step(const Step& step, const StepFactors& factors, const Fabric& fabric,
                         const Choices& choices);

/// How an operand must lie for an op: each direction's cut factor as a dimension of the operand, or -1.
ValueCut needed_cut(const ProgramFactors& factors, const ValueCut& factor, std::uint32_t first_outer,
                    int rank);

}  // namespace wafer::inline v0
