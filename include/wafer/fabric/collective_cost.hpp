// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/collectives.hpp>

#include <vector>

namespace wafer::inline v0 {

/// What the model charges for, read off the messages of one phase.
struct CostTerms {
  Index wavelets = 0;  ///< C: received, or sent, by the busiest core
  Index hops = 0;      ///< E: wavelets times links, of all messages
  Index links = 0;     ///< N: that carry any
  Index length = 0;    ///< L: links on the longest way along messages that wait for each other
  Index turns = 0;     ///< on that way
  Index depth = 0;     ///< D: greatest number of messages that wait for each other
};
/// One entry a phase. Throws UserError for messages that Traffic::check refuses on any machine, or that wait
/// for each other.
std::vector<CostTerms> terms_of(const Collective& collective);
/// T = max(C, E/N + L) + k D, in cycles, with the machine's constants [H].
double cycles_of(const CostTerms& terms, const Machine& machine);

/// Modelled cycles by closed forms, without building anything. They are those of "Near-Optimal Wafer-Scale
/// Reduce" [H] and ours (docs/fabric_model.md). Throws as `build`.
double modelled_cycles(const CollectiveRequest& request, const Method& method, const Machine& machine);
/// Of a sum along a line of `cores` into core number `root`.
double reduce_cycles(Index cores, Index root, LineTree tree, Index wavelets, const Machine& machine);
/// Lower bound [H] of a reduce in the area: that of a line (reduce_bound), or
/// max(B, B/8 + rows + columns - 1) + k for a rectangle. Throws as `build`.
double modelled_bound(const CollectiveRequest& request, const Machine& machine);

/// All ways to do it that fit the area.
std::vector<Method> methods_for(const CollectiveRequest& request);

struct MethodChoice {
  Method method;
  double cycles = 0;  ///< modelled
};
/// The method of least modelled cycles; the first of methods_for where they are equal. Throws as `build`.
MethodChoice choose_method(const CollectiveRequest& request, const Machine& machine);

}  // namespace wafer::inline v0
