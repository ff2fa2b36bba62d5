// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generator.hpp"
#include "runner.hpp"

#include <wafer/compiler/choices.hpp>
#include <wafer/compiler/compile.hpp>
#include <wafer/fabric/fabric.hpp>

#include <string>

namespace fuzz {

/// A fabric, and how the steps are cut over it.
struct RandomPlan {
  wafer::Fabric fabric;
  wafer::Choices choices;
  wafer::Index threads = 1;
  std::string text() const;
};

/// Mostly a mesh, with the batch, a feature or both cut wherever the graph has something to cut.
RandomPlan random_plan(const Generated& made, Random& random);

/// Counts what the plan of an executable cuts and moves.
void count_plan(const wafer::Executable& executable, Counts& counts);

}  // namespace fuzz
