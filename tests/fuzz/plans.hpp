// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "counts.hpp"
#include "generator.hpp"
#include "hints.hpp"

#include <wafer/compiler/choices.hpp>
#include <wafer/compiler/compile.hpp>
#include <wafer/fabric/fabric.hpp>

#include <string>

namespace fuzz {

/// A fabric, and how the steps are cut over it.
struct RandomPlan {
  /// Who cuts: choices made here, hints on the graph, or the search alone.
  enum class By { choices, hints, search };
  wafer::Fabric fabric;
  By by = By::choices;
  wafer::Choices choices;  ///< cuts by choices only; micro-batches and workers always
  Hints hints;
  wafer::Index threads = 1;
  bool panels = true;
  std::string text() const;
};

/// Mostly a mesh, with the batch, a feature or both cut wherever the graph has something to cut.
RandomPlan random_plan(const Generated& made, Random& random);

/// Compiles the steps as the plan says.
wafer::Executable compile_plan(const Generated& made, const RandomPlan& plan);

/// Counts what was drawn, and what the plan of an executable cuts and moves.
void count_plan(const Generated& made, const RandomPlan& plan, const wafer::Executable& executable,
                Counts& counts);

}  // namespace fuzz
