// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.hpp"

#include <wafer/graph/graph.hpp>

#include <algorithm>
#include <string>

namespace wafer::inline v0::ops {

void expect_inputs(const Types& in, std::size_t count) {
  if (in.size() == count) return;
  throw UserError("expected " + std::to_string(count) + (count == 1 ? " input" : " inputs") + ", got " +
                  std::to_string(in.size()));
}

void expect_dtype(const Types& in, std::size_t i, DType dtype, std::string_view what) {
  if (in[i].dtype == dtype) return;
  throw UserError("expected " + std::string(what) + " of " + std::string(name_of(dtype)) + ", got " +
                  text_of(in[i]));
}

std::vector<Index> normalized_dims(const Tensor& x, const std::vector<int>& dims, std::string_view who) {
  const Graph graph = x.graph();
  const GraphData& data = *graph.data();
  std::vector<Index> sorted;
  for (int dim : dims) sorted.push_back(data.dim_of(x.value(), dim, who));
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw UserError(data.here(who) + ": expected each dimension once, got " + std::to_string(*twice) +
                    " twice, of " + data.text_of(x.value()));
  }
  return sorted;
}

Index row_scratch_bytes(const TensorType& type) {
  const int rank = type.shape.rank();
  return rank == 0 ? 0 : checked_mul(type.shape[rank - 1], size_of(DType::f32));
}

int axis_of(const Tensor& x, int dim) { return x.data()->values[x.value()].axes[at(dim)]; }

}  // namespace wafer::inline v0::ops
