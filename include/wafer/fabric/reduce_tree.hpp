// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/machine.hpp>

#include <vector>

namespace wafer::inline v0 {

/// Who sends to whom when cores 0 … n-1 of a line are summed into core 0. A pre-order tree: parents[i] < i,
/// each subtree is a run of neighbours, so that messages of different parents never cross. parents[0] is -1.
struct ReduceTree {
  std::vector<Index> parents;

  Index cores() const { return static_cast<Index>(parents.size()); }
  /// Throws InternalError unless it is a pre-order tree.
  void verify() const;
};

/// What a tree costs for each wavelet of the vector.
struct TreeTerms {
  Index arity = 0;  ///< greatest number of children of one core
  Index root_arity = 0;
  Index hops = 0;   ///< links crossed, by all messages together
  Index depth = 0;  ///< dependent stages
};
TreeTerms terms_of(const ReduceTree& tree);

// Trees of n >= 1 cores; all throw UserError for n < 1 or above 2^31.
ReduceTree star_tree(Index cores);
ReduceTree chain_tree(Index cores);
/// Binomial: core i sends over its lowest set bit.
ReduceTree binomial_tree(Index cores);
/// Chains in groups of two_phase_group(cores), then a chain of the groups' first cores.
ReduceTree two_phase_tree(Index cores);
/// floor(sqrt(cores)) [H]
Index two_phase_group(Index cores);

/// Limits of a tree: children of the root, of every other core, and dependent stages.
struct TreeLimits {
  Index root_arity = 1, arity = 1, depth = 1;
};
/// Fewest hops of any pre-order tree within the limits; -1 where none has so many cores.
///
/// Of a node whose ancestors-or-self have r_1, …, r_d later siblings, the link before it carries
/// 1 + r_1 + … + r_d messages, and each link stands before one node. So the cheapest tree takes the n - 1
/// cheapest sequences of length 1 … depth with r_1 < root_arity, r_i < arity: a set closed under prefixes and
/// smaller r. It is counted, not searched.
Index least_hops(Index cores, const TreeLimits& limits);
/// A tree with that many hops. Throws UserError where none fits.
ReduceTree tree_within(Index cores, const TreeLimits& limits);

/// The auto-generated tree: limits and modelled cycles at the least of
/// max(B C, B E / (n-1) + L) + k D over all pre-order trees, with the machine's constants. `sides` of 2 means
/// that the root sits in the middle and takes the children of two such trees.
struct TreeChoice {
  TreeLimits limits;
  Index hops = 0;  ///< of one wavelet, of one side
  double cycles = 0;
};
TreeChoice choose_tree(Index cores, int sides, Index wavelets, const Machine& machine);

/// Lower bound of the cycles of any reduce of `wavelets` on a line of `cores` [H]:
/// max(B, min over D of B E*(n, D) / (n-1) + n-1 + k D).
double reduce_bound(Index cores, Index wavelets, const Machine& machine);

}  // namespace wafer::inline v0
