// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder_support.hpp"

#include <wafer/ops.hpp>

#include <algorithm>

namespace fuzz {

using namespace wafer;

// The last two dimensions in one, where both are plain: long sums in the products to come.
Entry Builder::flattened(const Entry& x) {
  const int rank = x.tensor.rank();
  if (rank < 3 || axis_of(x.tensor, rank - 1) >= 0 || axis_of(x.tensor, rank - 2) >= 0) return x;
  const Shape before = x.tensor.shape();
  std::vector<Index> shape(before.begin(), before.end() - 1);
  shape.back() *= before[rank - 1];
  return {reshape(x.tensor, shape), x.bound};
}

bool Builder::product() {
  Entry a = any(f32_);
  if (random_.chance(0.4)) a = flattened(a);
  const int rank = a.tensor.rank();
  if (rank < 2) return false;
  Matmul op{random_.chance(0.2), random_.chance(0.3)};
  const int summed = op.transpose_a ? rank - 2 : rank - 1;
  const Index k = a.tensor.dim(summed);
  Entry b;
  if (random_.chance(0.35)) {  // another value that happens to fit, even one with the batch
    for (const Entry& e : f32_) {
      const int of = e.tensor.rank();
      if (of < 2 || (of > 2 && of != rank) || !random_.chance(0.7)) continue;
      const int dim = op.transpose_b ? of - 1 : of - 2;
      bool same = same_extent(e.tensor, dim, a.tensor, summed);
      for (int d = 0; of > 2 && d < rank - 2; ++d) same = same && same_extent(e.tensor, d, a.tensor, d);
      if (same) b = e;
    }
  }
  if (!b.tensor) {
    if (axis_of(a.tensor, summed) >= 0) return false;
    const Index n = random_width();
    b = parameter_of(op.transpose_b ? Shape{n, k} : Shape{k, n});
  }
  const int other = op.transpose_b ? b.tensor.rank() - 2 : b.tensor.rank() - 1;
  const Index terms = a.tensor.shape().size() * b.tensor.dim(other);
  if (terms > kMostTerms || terms / std::max<Index>(1, k) > kMostElements) return false;
  return add(apply(op, {a.tensor, b.tensor}).at(0), static_cast<double>(k) * a.bound * b.bound);
}

bool Builder::rows() {
  const Entry a = any(f32_);
  if (a.tensor.rank() < 2) return false;
  for (int tries = 0; tries < 20; ++tries) {
    const Entry& b = any(f32_);
    if (b.tensor.rank() != a.tensor.rank()) continue;
    bool same = true;
    for (int d = 0; d + 1 < a.tensor.rank(); ++d) same = same && same_extent(a.tensor, d, b.tensor, d);
    if (!same || a.tensor.dim(-1) * b.tensor.dim(-1) > kMostElements) continue;
    const Index count = a.tensor.shape().size() / std::max<Index>(1, a.tensor.dim(-1));
    if (a.tensor.shape().size() * b.tensor.dim(-1) > kMostTerms) continue;
    return add(apply(RowProduct{}, {a.tensor, b.tensor}).at(0),
               static_cast<double>(count) * a.bound * b.bound);
  }
  return false;
}

bool Builder::sums() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  if (rank == 0) return false;
  const double all = x.bound * static_cast<double>(x.tensor.shape().size());
  if (random_.chance(0.3)) {
    switch (random_.below(4)) {
      case 0: return add(sum(x.tensor), all);
      case 1: return add(mean(x.tensor), x.bound);
      case 2: return add(sum_all(x.tensor), all);
      default: return add(sum_squares(x.tensor), all * x.bound);
    }
  }
  std::vector<int> dims;
  double terms = 1;
  for (int d = 0; d < rank; ++d) {
    if (!random_.chance(0.5)) continue;
    dims.push_back(d);
    terms *= static_cast<double>(x.tensor.dim(d));
  }
  if (dims.empty()) return false;
  switch (random_.below(4)) {
    case 0: return add(mean(x.tensor, dims), x.bound);
    case 1: return add(mean_keep(x.tensor, dims), x.bound);
    case 2: return add(sum_keep(x.tensor, dims), x.bound * terms);
    default: return add(sum(x.tensor, dims), x.bound * terms);
  }
}

bool Builder::is_logits(const Entry& e) const {
  const Tensor& t = e.tensor;
  if (t.rank() < 2 || t.rank() > 3 || t.dim(-1) < 1 || axis_of(t, t.rank() - 1) >= 0) return false;
  for (int d = 0; d + 1 < t.rank(); ++d) {
    const int axis = axis_of(t, d);
    if (axis >= 0 && t.dim(d) != out_.axes[static_cast<std::size_t>(axis)].extent) return false;
  }
  return true;
}

Tensor Builder::labels_for(const Tensor& logits) {
  std::vector<Extent> shape;
  for (int d = 0; d + 1 < logits.rank(); ++d) {
    const int axis = axis_of(logits, d);
    shape.push_back(axis >= 0 ? Extent(out_.axes[static_cast<std::size_t>(axis)]) : Extent(logits.dim(d)));
  }
  const Tensor label = input(shape, logits.dim(-1));
  i32_.push_back({label, 65});
  return label;
}

bool Builder::classes() {
  Entry x = any(f32_);
  for (int tries = 0; tries < 20 && !is_logits(x); ++tries) x = any(f32_);
  if (!is_logits(x)) return false;
  switch (random_.below(4)) {
    case 0: return add(argmax(x.tensor), 65);
    case 1: return add(count_correct(x.tensor, labels_for(x.tensor)), 5000);
    case 2: return add(cross_entropy(x.tensor, labels_for(x.tensor)), x.bound * 2 + 5);
    default:
      return add(apply(SoftmaxCrossEntropy{}, {x.tensor, labels_for(x.tensor)}).at(0), x.bound * 2 + 5);
  }
}

}  // namespace fuzz
