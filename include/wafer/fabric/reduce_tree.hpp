// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/machine.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// How the cores of a line are summed.
enum class LineTree : std::uint8_t {
  star,       ///< all send to the root
  chain,      ///< each to its neighbour
  tree,       ///< binomial: core i sends over its lowest set bit
  two_phase,  ///< chains in groups of two_phase_group(cores), then a chain of the groups' first cores
  automatic,  ///< auto-generated [H] for the cores, the wavelets and the machine: choose_limits
  streamed    ///< the fastest by time, wavelet by wavelet: generate_trees
};
inline constexpr LineTree kLineTrees[] = {LineTree::star,      LineTree::chain,     LineTree::tree,
                                          LineTree::two_phase, LineTree::automatic, LineTree::streamed};
std::string_view name_of(LineTree tree);

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
  Index hops = 0;   ///< links crossed, by all messages together
  Index depth = 0;  ///< dependent stages
};
/// Throws InternalError as ReduceTree::verify().
TreeTerms terms_of(const ReduceTree& tree);

/// Of n cores. Throws UserError for n < 1 or above 2^24, and for `automatic` and `streamed`,
/// which depend on more than that.
ReduceTree line_tree(LineTree tree, Index cores);
/// floor(sqrt(cores)) [H]. Throws UserError as line_tree.
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

/// Colours 0 to 2 of the message that each core sends: another one than it receives on, and another one for
/// each further child, so that routers can be set before. Children next to each other that only send what
/// they have share one: their streams join into one. The root's own, 2, is not used there.
/// Throws InternalError as ReduceTree::verify().
std::vector<std::uint8_t> colours_of(const ReduceTree& tree);

// All that take a machine throw UserError as Machine::check.

/// Cycles of a sum into the first core of `before` and of `after`, which is one core between two sides (one
/// core alone: no side), followed wavelet by wavelet: when each core's head leaves, and when its ramp is free
/// for the next child. All but messages that meet on links. Throws InternalError as ReduceTree::verify(), and
/// UserError for less than one wavelet.
double streamed_cycles(const ReduceTree& before, const ReduceTree& after, Index wavelets,
                       const Machine& machine);

/// The least of max(B C, B E / (n-1) + n-1) + k D over all pre-order trees [H], with the machine's constants,
/// and limits whose tree_within reaches it.
struct TreeChoice {
  TreeLimits limits;
  double cycles = 0;
};
TreeChoice choose_limits(Index cores, Index wavelets, const Machine& machine);

/// The trees of a line around its root, which is the first core of both. `streamed`: those that stream
/// fastest of all that are near the least of choose_limits and of those made for it. `automatic`: of the
/// former alone (within 5 % of the formula's least, or 30 % of a like formula between two sides); with the
/// root at an end also of the latter that are no faster than the formula says, or of all of them where the
/// former are more than 8 % slower than that.
struct GeneratedTrees {
  ReduceTree before, after;
  double cycles = 0;  ///< streamed
};
/// Throws UserError for another tree than these two, and for a root that is no core of the line.
GeneratedTrees generate_trees(LineTree tree, Index cores, Index root, Index wavelets, const Machine& machine);

/// Lower bound of the cycles of any reduce of `wavelets` on a line of `cores` [H]:
/// max(B, min over D of B E*(n, D) / (n-1) + n-1 + k D).
double reduce_bound(Index cores, Index wavelets, const Machine& machine);

}  // namespace wafer::inline v0
