// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/reduce_tree.hpp>

#include <vector>

namespace wafer::inline v0 {

/// The limits whose cheapest trees come within the factor `slack` of the least cycles by formula, that one
/// first. With two sides of n cores, the core between them included in each, that is
/// max(B C, B (busiest link + 1), B E / (n-1) + n-1) + k D.
std::vector<TreeChoice> tree_candidates(Index cores, int sides, Index wavelets, double slack,
                                        const Machine& machine);

/// Trees made to stream fast: for each number of cycles the most cores that can be summed. `before` and
/// `after` count the root each; a side of one is no side. More than one answer between two sides, none for
/// lines that take too long.
std::vector<GeneratedTrees> streamed_trees(Index before, Index after, Index wavelets, const Machine& machine);

}  // namespace wafer::inline v0
