// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder_support.hpp"

#include <wafer/ops.hpp>

#include <numeric>
#include <utility>

namespace fuzz {

using namespace wafer;

bool Builder::reshapes() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  const Shape before = x.tensor.shape();
  std::vector<Index> shape(before.begin(), before.end());
  const Index which = random_.below(3);
  if (which == 0 && rank >= 2) {  // two dimensions in one
    const auto d = static_cast<std::ptrdiff_t>(random_.below(rank - 1));
    shape[static_cast<std::size_t>(d)] *= shape[static_cast<std::size_t>(d) + 1];
    shape.erase(shape.begin() + d + 1);
  } else if (which == 1 && rank >= 1 && rank < 5) {  // one in two
    const auto d = static_cast<std::size_t>(random_.below(rank));
    for (Index by : {8, 5, 4, 2}) {
      if (shape[d] == 0 || shape[d] % by != 0 || shape[d] == by) continue;
      shape[d] /= by;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, by);
      break;
    }
  } else if (rank < 5) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(random_.below(rank + 1)), 1);
  }
  const Tensor y = reshape(x.tensor, shape);
  return y.value() != x.tensor.value() && add(y, x.bound);
}

bool Builder::transposes() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  if (rank < 2) return false;
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random_.below(static_cast<Index>(i)))]);
  return add(transpose(x.tensor, order), x.bound);
}

bool Builder::stretches() {
  const Entry x = any(f32_);
  for (int tries = 0; tries < 20; ++tries) {
    const Entry& like = any(f32_);
    if (!fits(x.tensor, like.tensor) || like.tensor.shape() == x.tensor.shape() ||
        broadcast(x.tensor.shape(), like.tensor.shape()) != like.tensor.shape())
      continue;
    return add(broadcast_like(x.tensor, like.tensor), x.bound);
  }
  return false;
}

}  // namespace fuzz
