// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/tree_candidates.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

void expect_cores(Index cores) {
  if (cores < 1 || cores > kMostMeshCores)
    throw UserError("tree: expected 1 to 2^24 cores, got " + std::to_string(cores));
}

/// Counts sequences r_1, …, r_d by their sum, for d = 1, 2, …: how many nodes of the endless tree have that
/// many messages of others on the link before them. Grows by one stage at a time.
class NodeCounts {
 public:
  NodeCounts(Index nodes, Index root_arity, Index arity) : nodes_(nodes), arity_(std::min(arity, nodes)) {
    const auto sums = static_cast<std::size_t>(std::min(root_arity, nodes));
    longest_.assign(sums, 1);
    all_ = longest_;
    cut();
  }

  Index depth() const { return depth_; }

  void deepen() {
    ++depth_;
    // Sums up to where the nodes suffice already; beyond, only what the longer sequences newly reach.
    const Index reach = enough_ ? static_cast<Index>(all_.size())
                                : std::min(nodes_, static_cast<Index>(longest_.size()) + arity_ - 1);
    std::vector<Index> longer(static_cast<std::size_t>(reach), 0);
    Index window = 0;
    for (Index sum = 0; sum < reach; ++sum) {
      window += at(longest_, sum) - at(longest_, sum - arity_);
      longer[static_cast<std::size_t>(sum)] = std::min(window, nodes_);
    }
    longest_ = std::move(longer);
    all_.resize(longest_.size(), 0);
    for (std::size_t sum = 0; sum < all_.size(); ++sum)
      all_[sum] = std::min(all_[sum] + longest_[sum], nodes_);
    cut();
  }

  /// Links crossed by the cheapest nodes of this depth; -1 where there are too few.
  Index hops() const {
    if (!enough_) return -1;
    Index missing = nodes_, hops = 0;
    for (std::size_t sum = 0; sum < all_.size(); ++sum) {
      const Index taken = std::min(missing, all_[sum]);
      hops += taken * (static_cast<Index>(sum) + 1);
      missing -= taken;
    }
    return hops;
  }

  /// Messages on the busiest link of the cheapest tree, which is also the greatest arity it has use for.
  Index busiest() const { return static_cast<Index>(all_.size()); }

 private:
  static Index at(const std::vector<Index>& counts, Index sum) {
    return sum < 0 || sum >= static_cast<Index>(counts.size()) ? 0 : counts[static_cast<std::size_t>(sum)];
  }

  void cut() {
    Index missing = nodes_;
    for (std::size_t sum = 0; sum < all_.size(); ++sum) {
      missing -= std::min(missing, all_[sum]);
      if (missing > 0) continue;
      enough_ = true;
      all_.resize(sum + 1);
      longest_.resize(std::min(longest_.size(), sum + 1));
      return;
    }
  }

  Index nodes_, arity_, depth_ = 1;
  std::vector<Index> longest_, all_;  // by sum: sequences of length depth_, of length 1 … depth_; capped
  bool enough_ = false;
};

/// One node of the endless tree: a child of `parent` with `later` later siblings.
struct Node {
  std::size_t parent = 0;
  Index depth = 0, later = 0;
};

/// The cheapest nodes, those of few later siblings first; a node comes after its parent and later siblings.
std::vector<Node> cheapest_nodes(Index cores, const TreeLimits& limits) {
  const auto wanted = static_cast<std::size_t>(cores);
  std::vector<Node> taken{{0, 0, 0}};
  std::vector<Node> now, next;  // candidates of this sum, and of one more
  if (limits.depth >= 1 && limits.root_arity >= 1) now.push_back({0, 1, 0});
  while (taken.size() < wanted && !now.empty()) {
    for (std::size_t i = 0; i < now.size() && taken.size() < wanted; ++i) {
      const Node node = now[i];
      const std::size_t self = taken.size();
      taken.push_back(node);
      if (node.depth < limits.depth && limits.arity >= 1) now.push_back({self, node.depth + 1, 0});
      if (node.later + 1 < (node.depth == 1 ? limits.root_arity : limits.arity))
        next.push_back({node.parent, node.depth, node.later + 1});
    }
    now.swap(next);
    next.clear();
  }
  return taken;
}

}  // namespace

Index least_hops(Index cores, const TreeLimits& limits) {
  expect_cores(cores);
  if (cores == 1) return 0;
  if (limits.root_arity < 1 || limits.depth < 1) return -1;
  NodeCounts counts(cores - 1, limits.root_arity, std::max<Index>(limits.arity, 0));
  while (counts.depth() < std::min(limits.depth, cores - 1) && limits.arity >= 1) counts.deepen();
  return counts.hops();
}

ReduceTree tree_within(Index cores, const TreeLimits& limits) {
  expect_cores(cores);
  const std::vector<Node> nodes = cheapest_nodes(cores, limits);
  if (static_cast<Index>(nodes.size()) < cores) {
    throw UserError("tree: expected at most as many cores as fit within depth " +
                    std::to_string(limits.depth) + " and arity " + std::to_string(limits.arity) + ", got " +
                    std::to_string(cores));
  }
  // Children by place: the one with most later siblings is nearest. Each list grows by one more later
  // sibling.
  std::vector<std::vector<std::size_t>> children(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) children[nodes[i].parent].push_back(i);
  ReduceTree tree;
  std::vector<std::pair<std::size_t, Index>> waiting{{0, -1}};  // node, place of its parent
  while (!waiting.empty()) {
    const auto [node, parent] = waiting.back();
    waiting.pop_back();
    const Index place = tree.cores();
    tree.parents.push_back(parent);
    for (const std::size_t child : children[node])
      waiting.emplace_back(child, place);  // the last comes first
  }
  return tree;
}

std::vector<TreeChoice> tree_candidates(Index cores, int sides, Index wavelets, double slack,
                                        const Machine& machine) {
  expect_cores(cores);
  if (wavelets < 1) throw UserError("reduce: expected at least one wavelet, got " + std::to_string(wavelets));
  if (cores == 1) return {TreeChoice{}};
  const Index links = cores - 1;
  const double vector = static_cast<double>(wavelets) * machine.pace();
  const double way = static_cast<double>(links) * machine.hop_cycles;
  double least = std::numeric_limits<double>::infinity();
  std::vector<TreeChoice> found;
  // More children than a free tree of two stages has use for serve the star alone.
  NodeCounts free(links, links, links);
  if (links > 1) free.deepen();
  const Index useful = free.busiest();
  for (Index root = 1; root <= links; root = root == useful && root < links ? links : root + 1) {
    const double core = vector * static_cast<double>(root * sides);
    if (core > least * slack) break;
    const TreeLimits limits{root, std::min(root * sides, links), 1};
    for (NodeCounts counts(links, limits.root_arity, limits.arity);; counts.deepen()) {
      const double stages = machine.stage_cycles() * static_cast<double>(counts.depth());
      if (std::max(core, vector + way) + stages > least * slack) break;
      if (const Index hops = counts.hops(); hops >= 0) {
        double link = vector * static_cast<double>(hops) / static_cast<double>(links) + way;
        // The last messages of both sides come at one time.
        if (sides == 2) link = std::max(link, vector * static_cast<double>(counts.busiest() + 1));
        const double cycles = std::max(core, link) + stages;
        least = std::min(least, cycles);
        if (cycles <= least * slack) found.push_back({{root, limits.arity, counts.depth()}, cycles});
      }
      if (counts.depth() == links) break;
    }
    if (root > useful) break;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const TreeChoice& a, const TreeChoice& b) { return a.cycles < b.cycles; });
  std::erase_if(found, [&](const TreeChoice& choice) { return choice.cycles > least * slack; });
  return found;
}

TreeChoice choose_limits(Index cores, Index wavelets, const Machine& machine) {
  machine.check();
  return tree_candidates(cores, 1, wavelets, 1, machine).front();
}

double reduce_bound(Index cores, Index wavelets, const Machine& machine) {
  machine.check();
  expect_cores(cores);
  if (wavelets < 1) throw UserError("reduce: expected at least one wavelet, got " + std::to_string(wavelets));
  if (cores == 1) return 0;
  const Index links = cores - 1;
  const double vector = static_cast<double>(wavelets) * machine.pace();
  double least = std::numeric_limits<double>::infinity();
  for (NodeCounts counts(links, links, links);; counts.deepen()) {
    const double base = static_cast<double>(links) * machine.hop_cycles +
                        machine.stage_cycles() * static_cast<double>(counts.depth());
    if (vector + base >= least) break;
    least = std::min(least, vector * static_cast<double>(counts.hops()) / static_cast<double>(links) + base);
    if (counts.depth() == links) break;
  }
  return std::max(vector, least);
}

}  // namespace wafer::inline v0
