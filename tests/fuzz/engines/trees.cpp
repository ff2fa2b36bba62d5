// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <cmath>

#include "machines.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kMostCores = 600;  // what is larger, and still no error, takes memory and time

struct Draft {
  Index cores = 1, root = 0, wavelets = 1;
  LineTree tree = LineTree::chain;
  TreeLimits limits;
};

Draft draw(Random& random) {
  Draft d;
  d.cores = random.between(1, random.pick(std::vector<Index>{3, 8, 40, kMostCores}));
  d.root = random.chance(0.5) ? 0 : random.below(d.cores);
  d.wavelets = random.between(1, random.pick(std::vector<Index>{1, 16, 300, 5000}));
  d.tree = random.pick(std::vector<LineTree>(std::begin(kLineTrees), std::end(kLineTrees)));
  const auto limit = [&] { return random.between(1, random.pick(std::vector<Index>{2, 6, d.cores + 1})); };
  d.limits = {limit(), limit(), limit()};
  return d;
}

void spoil(Random& random, Draft& d) {
  switch (random.below(6)) {
    case 0:
      d.cores = hostile(random);
      if (d.cores > kMostCores && d.cores <= wafer::kMostMeshCores) d.cores = 0;
      break;
    case 1: d.root = hostile(random); break;
    case 2: d.wavelets = hostile(random); break;
    case 3: d.limits.root_arity = hostile(random); break;
    case 4: d.limits.arity = hostile(random); break;
    default: d.limits.depth = hostile(random);
  }
}

std::string check_within(const Draft& d) {
  const Index hops = least_hops(d.cores, d.limits);
  if (hops < 0 || d.cores == 1) return "";
  const ReduceTree tree = tree_within(d.cores, d.limits);
  tree.verify();
  const TreeTerms terms = terms_of(tree);
  Index children_of_root = 0;
  for (const Index parent : tree.parents) children_of_root += parent == 0 ? 1 : 0;
  const bool fits = terms.depth <= d.limits.depth && children_of_root <= d.limits.root_arity &&
                    terms.arity <= std::max(d.limits.arity, d.limits.root_arity);
  if (terms.hops != hops || !fits || tree.cores() != d.cores)
    return "a tree of " + std::to_string(terms.hops) + " hops, arity " + std::to_string(terms.arity) +
           ", depth " + std::to_string(terms.depth) + ", expected " + std::to_string(hops) + " hops";
  return "";
}

std::string check_generated(const Draft& d, const Machine& machine) {
  const bool fixed = d.tree != LineTree::automatic && d.tree != LineTree::streamed;
  if (fixed) {
    const ReduceTree tree = line_tree(d.tree, d.cores);
    tree.verify();
    return tree.cores() == d.cores ? "" : "a tree of " + std::to_string(tree.cores()) + " cores";
  }
  const GeneratedTrees trees = generate_trees(d.tree, d.cores, d.root, d.wavelets, machine);
  trees.before.verify();
  trees.after.verify();
  if (trees.before.cores() != d.root + 1 || trees.after.cores() != d.cores - d.root)
    return "trees of " + std::to_string(trees.before.cores()) + " and " +
           std::to_string(trees.after.cores()) + " cores";
  const double cycles = streamed_cycles(trees.before, trees.after, d.wavelets, machine);
  if (!(std::isfinite(cycles) && cycles >= 0 && cycles == trees.cycles))
    return "cycles " + std::to_string(trees.cycles) + ", streamed again " + std::to_string(cycles);
  return "";
}

// verify() looks at any parents, and what it accepts has terms.
void tamper(Random& random, Index cores) {
  ReduceTree tree = line_tree(LineTree::tree, cores);
  if (random.chance(0.1)) tree.parents.clear();
  for (Index times = random.between(1, 3); times > 0 && !tree.parents.empty(); --times) {
    Index& parent = tree.parents[static_cast<std::size_t>(random.below(tree.cores()))];
    parent = random.chance(0.5) ? random.below(cores) : hostile(random);
  }
  try {
    tree.verify();
  } catch (const Error&) {
    return;
  }
  terms_of(tree);
}

}  // namespace

void run_trees(Random& random, Result& result) {
  Machine machine = draw_machine(random);
  Draft d = draw(random);
  const bool spoilt = random.chance(0.3);
  if (spoilt && random.chance(0.3))
    spoil(random, machine);
  else if (spoilt)
    spoil(random, d);
  result.tell(std::string(name_of(d.tree)) + " of " + std::to_string(d.cores) + " cores, root " +
              std::to_string(d.root) + ", " + std::to_string(d.wavelets) + " wavelets, limits " +
              std::to_string(d.limits.root_arity) + " " + std::to_string(d.limits.arity) + " " +
              std::to_string(d.limits.depth) + "; " + text_of(machine));
  try {
    const Index group = two_phase_group(d.cores);
    if (group * group > d.cores || (group + 1) * (group + 1) <= d.cores) result.fault = "no square root";
    const TreeChoice choice = choose_limits(d.cores, d.wavelets, machine);
    const double bound = reduce_bound(d.cores, d.wavelets, machine);
    result.accepted = true;
    if (!std::isfinite(bound) || bound > choice.cycles * (1 + 1e-12))
      result.fault = "a bound of " + std::to_string(bound) + " above " + std::to_string(choice.cycles);
    if (result.fault.empty()) result.fault = check_within(d);
    if (result.fault.empty()) result.fault = check_generated(d, machine);
    tamper(random, d.cores);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    result.accepted = false;
    if (!spoilt) result.fault = std::string("refused: ") + error.what();
  }
}

}  // namespace fuzz
