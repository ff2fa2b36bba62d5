// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

void expect_cores(Index cores) {
  if (cores < 1 || cores > kMostMeshCores)
    throw UserError("tree: expected 1 to 2^24 cores, got " + std::to_string(cores));
}

template <class ParentOf>
ReduceTree tree_by(Index cores, ParentOf parent_of) {
  expect_cores(cores);
  ReduceTree tree;
  tree.parents.reserve(static_cast<std::size_t>(cores));
  tree.parents.push_back(-1);
  for (Index i = 1; i < cores; ++i) tree.parents.push_back(parent_of(i));
  return tree;
}

}  // namespace

std::string_view name_of(LineTree tree) {
  switch (tree) {
    case LineTree::star: return "star";
    case LineTree::chain: return "chain";
    case LineTree::tree: return "tree";
    case LineTree::two_phase: return "two_phase";
    case LineTree::automatic: return "auto";
    case LineTree::streamed: return "streamed";
  }
  return "?";
}

ReduceTree line_tree(LineTree tree, Index cores) {
  switch (tree) {
    case LineTree::star: return tree_by(cores, [](Index) { return Index{0}; });
    case LineTree::chain: return tree_by(cores, [](Index i) { return i - 1; });
    case LineTree::tree: return tree_by(cores, [](Index i) { return i & (i - 1); });
    case LineTree::two_phase: {
      const Index group = two_phase_group(cores);
      return tree_by(cores, [=](Index i) { return i % group != 0 ? i - 1 : i - group; });
    }
    case LineTree::automatic:
    case LineTree::streamed: break;
  }
  throw UserError("tree: a generated one depends on wavelets and machine");
}

Index two_phase_group(Index cores) {
  expect_cores(cores);
  Index group = 1;
  while ((group + 1) * (group + 1) <= cores) ++group;
  return group;
}

TreeTerms terms_of(const ReduceTree& tree) {
  tree.verify();
  const auto size = tree.parents.size();
  std::vector<Index> children(size, 0), depth(size, 0);
  TreeTerms terms;
  for (std::size_t i = 1; i < size; ++i) {
    const auto parent = static_cast<std::size_t>(tree.parents[i]);
    terms.arity = std::max(terms.arity, ++children[parent]);
    terms.depth = std::max(terms.depth, depth[i] = depth[parent] + 1);
    terms.hops += static_cast<Index>(i - parent);
  }
  return terms;
}

void ReduceTree::verify() const {
  if (parents.empty() || parents[0] != -1) throw InternalError("a tree has no root at its first core");
  // The parent of i is i - 1 or an ancestor of it; that is pre-order.
  for (std::size_t i = 1; i < parents.size(); ++i) {
    Index ancestor = static_cast<Index>(i) - 1;
    while (ancestor > parents[i] && ancestor >= 0) ancestor = parents[static_cast<std::size_t>(ancestor)];
    if (ancestor != parents[i] || ancestor < 0)
      throw InternalError("core " + std::to_string(i) + " of a tree sends across another subtree");
  }
}

}  // namespace wafer::inline v0
