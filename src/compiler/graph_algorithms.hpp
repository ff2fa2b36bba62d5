// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph_data.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// What the passes ask of Boost.Graph, which is included by one source only.
namespace wafer::inline v0::algorithms {

/// Nodes that the roots depend on, in the finishing order of a depth-first visit from the roots against the
/// data flow: producers first, operands left to right.
std::vector<NodeId> depends_on(const GraphData& graph, std::span<const NodeId> roots);

/// Connected components of `vertices` vertices: the component of each, numbered in order of first occurrence.
std::vector<std::uint32_t> components(std::size_t vertices,
                                      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

struct Arc {
  std::uint32_t from = 0, to = 0;
  std::int64_t capacity = 0;
};
/// Minimum cut between vertex 0 and vertex 1: true for each vertex on the side of vertex 0.
std::vector<bool> minimum_cut(std::size_t vertices, const std::vector<Arc>& arcs);

}  // namespace wafer::inline v0::algorithms
