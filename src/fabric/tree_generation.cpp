// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/tree_candidates.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace wafer::inline v0 {

namespace {

constexpr Index kMostCores = 1200;  // that streamed trees are looked for: the longest side of a wafer
constexpr Index kMostCycles = 60'000;

/// What lies within this factor of the formula's least is timed, up to so many.
constexpr double kSlackAtEnd = 1.05, kSlackBetween = 1.3;
constexpr Index kMostTimed = 200, kMostTimedCores = 4'000'000;  // trees; cores of all of them together

/// An auto-generated tree this much slower than its formula says gives way to any faster streamed one.
constexpr double kTooSlow = 1.08;

/// In whole cycles, rounded up.
struct StreamTimes {
  Index stage = 0, hop = 0;
  Index vector = 0;  // from one child to the next

  StreamTimes(Index wavelets, const Machine& machine)
      : stage(whole(machine.stage_cycles())),
        hop(whole(machine.hop_cycles)),
        vector(whole(static_cast<double>(wavelets) * machine.pace() + 2 * machine.ramp_cycles)) {}

  static Index whole(double cycles) { return static_cast<Index>(std::ceil(std::min(cycles, 1e15))); }
};

/// The most cores at a line's end that can be summed so that the sum's head leaves the first of them after so
/// many cycles. Of its children the last one, and furthest, starts down the ramp that late; the others come
/// `spacing` earlier, as if it were not there; before them there is the first core alone.
class StreamedTree {
 public:
  /// Of trees all of whose cores take children one after the other.
  explicit StreamedTree(const StreamTimes& times) : times_(times), spacing_(times.vector), below_(*this) {}
  /// Of a root that takes children of another spacing, trees of `below` each.
  StreamedTree(const StreamedTree& below, Index spacing)
      : times_(below.times_), spacing_(spacing), below_(below) {}
  StreamedTree(const StreamedTree&) = delete;
  StreamedTree& operator=(const StreamedTree&) = delete;

  /// Cycles in which `cores` can be summed; -1 where it would take too long to find out.
  Index grow(Index cores) {
    while (most_.back() < cores) {
      const auto cycles = static_cast<Index>(most_.size());
      if (cycles > kMostCycles) return -1;
      Index most = 1;
      for (Index others = std::max<Index>(1, most_cores(cycles - spacing_)); others >= 1; --others)
        most = std::max(most, others + below_.most_cores(child_cycles(cycles, others)));
      most_.push_back(std::min(most, cores));
    }
    return static_cast<Index>(std::lower_bound(most_.begin(), most_.end(), cores) - most_.begin());
  }

  ReduceTree build(Index cores, Index cycles) const {
    struct Part {
      Index cores, cycles, parent;
    };
    ReduceTree tree;
    // A part's first core takes the nearest child first, and waits for it first: so the last is put down
    // first.
    std::vector<Part> waiting{{cores, cycles, -1}};
    while (!waiting.empty()) {
      Part part = waiting.back();
      waiting.pop_back();
      const StreamedTree& kind = tree.parents.empty() ? *this : below_;
      const Index self = tree.cores();
      tree.parents.push_back(part.parent);
      while (part.cores > 1) {
        Index others = 1;
        while (part.cores - others > below_.most_cores(child_cycles(part.cycles, others))) ++others;
        waiting.push_back({part.cores - others, child_cycles(part.cycles, others), self});
        part.cores = others;
        part.cycles -= kind.spacing_;
      }
    }
    return tree;
  }

 private:
  Index most_cores(Index cycles) const {
    if (cycles < 0) return 0;
    return most_[static_cast<std::size_t>(std::min(cycles, static_cast<Index>(most_.size()) - 1))];
  }

  /// When the head of a child must leave that lies behind so many cores.
  Index child_cycles(Index cycles, Index others) const { return cycles - times_.stage - others * times_.hop; }

  const StreamTimes& times_;
  Index spacing_;
  const StreamedTree& below_;
  std::vector<Index> most_{1};  // by cycles
};

}  // namespace

std::vector<GeneratedTrees> streamed_trees(Index before, Index after, Index wavelets,
                                           const Machine& machine) {
  std::vector<GeneratedTrees> found;
  const Index longer = std::max(before, after);
  if (longer > kMostCores) return found;
  const StreamTimes times(wavelets, machine);
  StreamedTree tree(times);
  const Index cycles = tree.grow(longer);
  if (cycles < 0) return found;
  if (before == 1 || after == 1) {
    found.push_back({tree.build(before, cycles), tree.build(after, cycles), 0});
    return found;
  }
  const auto add = [&](StreamedTree& first, StreamedTree& second) {
    const Index a = first.grow(before), b = second.grow(after);
    if (a >= 0 && b >= 0) found.push_back({first.build(before, a), second.build(after, b), 0});
  };
  // At the root's ramp the sides take turns, or one side's only child comes last or first.
  StreamedTree by_turns(tree, 2 * times.vector), single(tree, kMostCycles);
  add(by_turns, by_turns);
  add(single, tree);
  add(tree, single);
  return found;
}

GeneratedTrees generate_trees(LineTree tree, Index cores, Index root, Index wavelets,
                              const Machine& machine) {
  machine.check();
  if (tree != LineTree::automatic && tree != LineTree::streamed)
    throw UserError("tree: expected auto or streamed to be generated, got " + std::string(name_of(tree)));
  if (cores < 1 || cores > kMostMeshCores || root < 0 || root >= cores || wavelets < 1) {
    throw UserError(
        "reduce: expected 1 to 2^24 cores, at least one wavelet and a root among the cores, got " +
        std::to_string(cores) + " cores, " + std::to_string(wavelets) + " wavelets, root " +
        std::to_string(root));
  }
  const Index before = root + 1, after = cores - root;
  const int sides = before > 1 && after > 1 ? 2 : 1;
  GeneratedTrees best;
  best.cycles = std::numeric_limits<double>::infinity();
  std::vector<TreeChoice> found = tree_candidates(std::max(before, after), sides, wavelets,
                                                  sides == 1 ? kSlackAtEnd : kSlackBetween, machine);
  const auto timed = static_cast<std::size_t>(std::clamp(kMostTimedCores / cores, Index{1}, kMostTimed));
  if (found.size() > timed) found.resize(timed);
  // A star streams faster than the formula knows; it stands for itself unless the formula prefers it.
  const bool automatic = tree == LineTree::automatic;
  for (const TreeChoice& choice : found) {
    if (automatic && sides == 1 && choice.limits.depth == 1 && found.front().limits.depth > 1) continue;
    ReduceTree a = tree_within(before, choice.limits), b = tree_within(after, choice.limits);
    const double cycles = streamed_cycles(a, b, wavelets, machine);
    if (cycles < best.cycles) best = {std::move(a), std::move(b), cycles};
  }
  if (automatic && sides == 2) return best;
  const double formula = found.front().cycles;
  const bool too_slow = best.cycles > kTooSlow * formula;
  for (GeneratedTrees& trees : streamed_trees(before, after, wavelets, machine)) {
    trees.cycles = streamed_cycles(trees.before, trees.after, wavelets, machine);
    const bool allowed = !automatic || too_slow || trees.cycles >= formula;
    if (allowed && trees.cycles < best.cycles) best = std::move(trees);
  }
  return best;
}

}  // namespace wafer::inline v0
