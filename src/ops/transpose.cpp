// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/transpose.hpp>

#include "ops/elementwise.hpp"

#include <numeric>

namespace wafer::inline v0 {

namespace {

bool is_permutation_of(const std::vector<Index>& permutation, int rank) {
  std::vector<Index> sorted = permutation, all(ops::at(rank));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), Index{0});
  return sorted == all;
}

}  // namespace

Types Transpose::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  if (!is_permutation_of(permutation, in[0].shape.rank())) {
    throw UserError("expected an order of the dimensions of " + text_of(in[0]) + ", got " +
                    text_of({{"permutation", permutation}}));
  }
  std::vector<Index> extents;
  for (Index dim : permutation) extents.push_back(in[0].shape[static_cast<int>(dim)]);
  return {{in[0].dtype, Shape(extents)}};
}

AxesRule Transpose::axes(const Types& in) const {
  AxesRule rule;
  AxesRule::Dims from, to;
  for (int d = 0; d < in[0].shape.rank(); ++d)
    from.push_back({rule.parallel(ops::kDimNames[d], in[0].shape[d])});
  for (Index dim : permutation) to.push_back(from[static_cast<std::size_t>(dim)]);
  rule.operand(from);
  rule.result(to);
  return rule;
}

void Transpose::run(const Context&, Tiles in, Tiles out) const {
  Tile permuted = in[0];
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const auto from = static_cast<std::size_t>(permutation[i]);
    permuted.extent[i] = in[0].extent[from];
    permuted.stride[i] = in[0].stride[from];
    permuted.origin[i] = in[0].origin[from];
    permuted.shape[i] = in[0].shape[from];
  }
  ops::copy(out[0], permuted);
}

Gradients Transpose::gradient(Inputs, Outputs, Cotangents cotangents) const {
  std::vector<Index> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<Index>(i);
  }
  return apply(Transpose{inverse}, {cotangents[0]});
}

Tensor transpose(Tensor x, const std::vector<int>& permutation) {
  const Graph graph = x.graph();
  std::vector<Index> order;
  for (int dim : permutation) order.push_back(graph.data()->dim_of(x.value(), dim, "transpose"));
  return apply(Transpose{order}, {std::move(x)}).at(0);
}

Tensor transpose(Tensor x) {
  const int rank = x.rank();
  if (rank < 2)
    throw UserError("op 'wafer.transpose': expected a tensor of rank >= 2, got " + text_of(x.type()));
  std::vector<int> order(ops::at(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[ops::at(rank - 2)], order[ops::at(rank - 1)]);
  return transpose(std::move(x), order);
}

}  // namespace wafer::inline v0
