// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.hpp"

#include <wafer/compiler/step.hpp>
#include <wafer/graph/graph.hpp>

#include <map>
#include <string>
#include <vector>

namespace fuzz {

/// What a graph has to be fed: f32 in [-1, 1), or i32 labels below `classes`.
struct InputSpec {
  std::string name;
  wafer::Tensor tensor;
  wafer::Index classes = 0;
};

/// A random graph and the steps asked of it.
struct Generated {
  wafer::Graph graph;
  std::vector<wafer::Axis> axes;  ///< named ones, by id
  std::vector<InputSpec> inputs;
  std::vector<wafer::NamedRequest> requests;
  bool wide = false;       ///< has weights that a host may store in panels
  bool gradients = false;  ///< derived by gradients_of or for an optimizer
  std::map<std::string, wafer::Index>
      drawn_again;  ///< ops that do not fit what they were drawn for, by cause
};

/// 5 to 60 ops on random shapes, whose values stay moderate; operands of exp, log, div, sqrt and pow are
/// clamped to where these are smooth.
/// What is there so far stays in `out` where it throws.
void generate(Random& random, Generated& out);

/// The graph, node by node; '*' marks a named axis.
std::string text_of(const wafer::Graph& graph);

}  // namespace fuzz
