// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/stages.hpp"
#include "generator.hpp"

#include <string>
#include <vector>

namespace fuzz {

/// A dimension of a value, to be cut over a direction of the mesh.
struct Hint {
  wafer::ValueId value = 0;
  int dim = 0;
  wafer::Mesh direction = wafer::Mesh::rows;
  bool by_axis = false;   ///< given as a named axis, else as an index
  bool from_end = false;  ///< which is then negative
};

struct Hints {
  std::vector<Hint> all;
  bool can_be_met = false;
  std::string text() const;
};

/// Hints for the batch, a feature or both, which can be met; sometimes any, which may be refused.
Hints random_hints(const Generated& made, const wafer::Step& step, const wafer::Fabric& fabric,
                   wafer::Index micro_batches, Random& random);

/// Gives them to the graph.
void give(const Hints& hints, const wafer::Graph& graph);

/// The first hint that a plan does not follow, or "".
std::string unmet(const Hints& hints, const wafer::Stages& stages);

}  // namespace fuzz
