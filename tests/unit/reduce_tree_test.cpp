// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>
#include <cstdint>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

namespace {

/// All pre-order trees: core n hangs below core n - 1 or one of that core's ancestors.
void extend(Index cores, const ReduceTree& tree, std::vector<ReduceTree>& all) {
  if (tree.cores() == cores) {
    all.push_back(tree);
    return;
  }
  for (Index parent = tree.cores() - 1; parent >= 0;
       parent = tree.parents[static_cast<std::size_t>(parent)]) {
    ReduceTree longer = tree;
    longer.parents.push_back(parent);
    extend(cores, longer, all);
  }
}

std::vector<ReduceTree> all_trees(Index cores) {
  std::vector<ReduceTree> all;
  extend(cores, {{-1}}, all);
  return all;
}

/// The formula, from the tree itself.
double formula(const ReduceTree& tree, Index wavelets, const Machine& machine) {
  const TreeTerms terms = terms_of(tree);
  const double vector = static_cast<double>(wavelets) * machine.pace();
  const double links = static_cast<double>(tree.cores() - 1);
  const double link = vector * static_cast<double>(terms.hops) / links + links * machine.hop_cycles;
  return std::max(vector * static_cast<double>(terms.arity), link) +
         machine.stage_cycles() * static_cast<double>(terms.depth);
}

struct Random {
  std::uint64_t state = 1;
  Index next(Index limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<Index>((state >> 33) % static_cast<std::uint64_t>(limit));
  }
  Machine machine() {
    Machine machine = Machine::mesh(1, 8);
    machine.ramp_cycles = static_cast<double>(next(4));
    machine.op_cycles = static_cast<double>(next(17));
    machine.hop_cycles = static_cast<double>(next(4));
    machine.add_cycles = 1 + static_cast<double>(next(3)) / 2;
    return machine;
  }
};

}  // namespace

TEST_CASE("tree: shapes") {
  CHECK(line_tree(LineTree::star, 4).parents == std::vector<Index>{-1, 0, 0, 0});
  CHECK(line_tree(LineTree::chain, 4).parents == std::vector<Index>{-1, 0, 1, 2});
  CHECK(line_tree(LineTree::tree, 8).parents == std::vector<Index>{-1, 0, 0, 2, 0, 4, 4, 6});
  // Groups of two: 0 1, 2 3, 4 5, 6.
  CHECK(line_tree(LineTree::two_phase, 7).parents == std::vector<Index>{-1, 0, 0, 2, 2, 4, 4});
  CHECK(two_phase_group(512) == 22);
  CHECK(two_phase_group(1) == 1);
  CHECK(line_tree(LineTree::chain, 1).parents == std::vector<Index>{-1});
}

TEST_CASE("tree: terms") {
  const TreeTerms star = terms_of(line_tree(LineTree::star, 512));
  CHECK((star.arity == 511 && star.hops == 511 * 512 / 2 && star.depth == 1));
  const TreeTerms chain = terms_of(line_tree(LineTree::chain, 512));
  CHECK((chain.arity == 1 && chain.hops == 511 && chain.depth == 511));
  const TreeTerms tree = terms_of(line_tree(LineTree::tree, 512));
  CHECK((tree.arity == 9 && tree.hops == 512 * 9 / 2 && tree.depth == 9));
  const TreeTerms two = terms_of(line_tree(LineTree::two_phase, 512));
  CHECK((two.arity == 2 && two.hops == 488 + 23 * 22));
}

TEST_CASE("tree: pre-order is held") {
  for (const LineTree kind : {LineTree::star, LineTree::chain, LineTree::tree, LineTree::two_phase}) {
    for (const Index cores : {1, 2, 3, 16, 29}) CHECK_NOTHROW(line_tree(kind, cores).verify());
  }
  CHECK_THROWS_AS((ReduceTree{{-1, 0, 1, 0, 1}}.verify()), InternalError);  // 4 sends across the subtree of 3
  CHECK_THROWS_AS((ReduceTree{{-1, 1}}.verify()), InternalError);
  CHECK_THROWS_AS((ReduceTree{{0}}.verify()), InternalError);
  CHECK_THROWS_AS((ReduceTree{}.verify()), InternalError);
}

TEST_CASE("tree: fewest hops within limits, against all trees of up to eight cores") {
  Index compared = 0, wrong = 0;
  for (Index cores = 1; cores <= 8; ++cores) {
    const std::vector<ReduceTree> all = all_trees(cores);
    for (Index arity = 1; arity < 8; ++arity) {
      for (Index depth = 1; depth < 8; ++depth) {
        Index least = -1;
        for (const ReduceTree& tree : all) {
          const TreeTerms terms = terms_of(tree);
          if (terms.arity <= arity && terms.depth <= depth && (least < 0 || terms.hops < least))
            least = terms.hops;
        }
        ++compared;
        if (least_hops(cores, {arity, arity, depth}) != least) ++wrong;
        if (least < 0) continue;
        const ReduceTree tree = tree_within(cores, {arity, arity, depth});
        tree.verify();
        const TreeTerms terms = terms_of(tree);
        if (terms.hops != least || terms.arity > arity || terms.depth > depth || tree.cores() != cores)
          ++wrong;
      }
    }
  }
  CHECK(compared == 8 * 49);
  CHECK(wrong == 0);
}

TEST_CASE(
    "tree: the auto-generated one is at the formula's optimum, 10 000 random cases of up to seven cores") {
  std::vector<std::vector<ReduceTree>> all;
  for (Index cores = 0; cores <= 7; ++cores)
    all.push_back(cores == 0 ? std::vector<ReduceTree>{} : all_trees(cores));
  REQUIRE(all[7].size() == 132);
  Random random;
  int wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Index cores = 2 + random.next(6), wavelets = 1 + random.next(Index{1} << random.next(13));
    const Machine machine = random.machine();
    double least = formula(all[static_cast<std::size_t>(cores)].front(), wavelets, machine);
    for (const ReduceTree& tree : all[static_cast<std::size_t>(cores)])
      least = std::min(least, formula(tree, wavelets, machine));
    const TreeChoice choice = choose_limits(cores, wavelets, machine);
    const ReduceTree tree = tree_within(cores, choice.limits);
    if (choice.cycles != Approx(least) || formula(tree, wavelets, machine) != Approx(least)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("tree: streamed trees against all trees of up to seven cores") {
  Random random;
  int best = 0;
  double worst = 1;
  constexpr int kCases = 1000;
  for (int i = 0; i < kCases; ++i) {
    const Index cores = 2 + random.next(6), wavelets = 1 + random.next(Index{1} << random.next(13));
    const Machine machine = random.machine();
    double least = 1e300;
    for (const ReduceTree& tree : all_trees(cores))
      least = std::min(least, streamed_cycles(tree, {{-1}}, wavelets, machine));
    const double found = generate_trees(LineTree::streamed, cores, 0, wavelets, machine).cycles;
    REQUIRE(found >= least - 1e-9);
    if (found <= least + 1e-9) ++best;
    worst = std::max(worst, found / least);
  }
  // Seen: 94 % at the optimum, 1.13 at worst.
  CHECK(best > kCases * 9 / 10);
  CHECK(worst < 1.2);
}

TEST_CASE("tree: auto-generated ones meet the bound on 512 cores") {
  const Machine machine = Machine::wse2();
  for (Index wavelets = 16; wavelets <= 4096; wavelets *= 2)
    CHECK(choose_limits(512, wavelets, machine).cycles <= 1.02 * reduce_bound(512, wavelets, machine));
  CHECK(reduce_bound(512, 256, machine) == Approx(1162).margin(1));
  CHECK(reduce_bound(1, 5, machine) == 0);
}

TEST_CASE("tree: generated trees on both sides of a root") {
  const Machine machine = Machine::wse2();
  for (const LineTree kind : {LineTree::automatic, LineTree::streamed}) {
    for (const Index root : {0, 1, 15, 30, 31}) {
      const GeneratedTrees trees = generate_trees(kind, 32, root, 64, machine);
      CHECK(trees.before.cores() == root + 1);
      CHECK(trees.after.cores() == 32 - root);
      CHECK_NOTHROW(trees.before.verify());
      CHECK_NOTHROW(trees.after.verify());
      CHECK(trees.cycles == streamed_cycles(trees.before, trees.after, 64, machine));
    }
  }
  // A million cores in a row: by formula alone, and no deeper stack.
  const GeneratedTrees large = generate_trees(LineTree::streamed, 1'000'000, 0, 100'000'000, machine);
  CHECK(terms_of(large.after).depth == 999'999);
}

TEST_CASE("tree: bad input") {
  const Machine machine = Machine::wse2();
  CHECK_THROWS_AS(line_tree(LineTree::star, 0), UserError);
  CHECK_THROWS_AS(line_tree(LineTree::automatic, 4), UserError);
  CHECK_THROWS_WITH(choose_limits(0, 1, machine), ContainsSubstring("expected 1 to 2^24 cores, got 0"));
  CHECK_THROWS_WITH(reduce_bound(kMostMeshCores + 1, 1, machine), ContainsSubstring("got 16777217"));
  CHECK_THROWS_WITH(choose_limits(4, 0, machine), ContainsSubstring("at least one wavelet, got 0"));
  CHECK_THROWS_WITH(generate_trees(LineTree::streamed, 4, 4, 1, machine), ContainsSubstring("root 4"));
  CHECK_THROWS_AS(reduce_bound(4, -1, machine), UserError);
  CHECK_THROWS_WITH(generate_trees(LineTree::chain, 4, 0, 1, machine), ContainsSubstring("got chain"));
  CHECK_THROWS_WITH(tree_within(9, {2, 2, 2}), ContainsSubstring("got 9"));  // 1 + 2 + 4 fit
  CHECK(least_hops(9, {2, 2, 2}) == -1);
  CHECK(least_hops(7, {2, 2, 2}) > 0);
  // What is no tree has neither terms, colours nor cycles.
  for (const ReduceTree& wrong : {ReduceTree{}, ReduceTree{{-1, 500'000, 7}}, ReduceTree{{-1, 0, -5}}}) {
    CHECK_THROWS_AS(terms_of(wrong), InternalError);
    CHECK_THROWS_AS(colours_of(wrong), InternalError);
    CHECK_THROWS_AS(streamed_cycles(wrong, {{-1}}, 3, machine), InternalError);
  }
  CHECK_THROWS_AS(streamed_cycles({{-1}}, {{-1, 0}}, -5, machine), UserError);
}
