// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/sum.hpp>
#include <wafer/ops/sum_to.hpp>

#include "ops/reshape.hpp"
#include "ops/support.hpp"

namespace wafer::inline v0 {

Tensor sum_to(const Tensor& g, const Tensor& like) {
  const Shape from = g.shape(), to = like.shape();
  const int added = from.rank() - to.rank();
  std::vector<int> dims;
  for (int d = 0; d < from.rank(); ++d) {
    if (d < added ||
        (to[d - added] == 1 && (from[d] != 1 || ops::axis_of(g, d) != ops::axis_of(like, d - added))))
      dims.push_back(d);
  }
  if (dims.empty()) return g;
  if (static_cast<int>(dims.size()) == added) return sum(g, dims);
  return ops::reshape_to(sum_keep(g, dims), to, ops::axes_of(like));
}

}  // namespace wafer::inline v0
