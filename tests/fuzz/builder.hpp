// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generator.hpp"

#include <vector>

namespace fuzz {

inline const std::vector<wafer::Index> kPositiveExtents{1, 2, 3, 7, 16, 31, 64, 65};

/// A value of the graph, and what its magnitude cannot exceed (roughly, and for f32 only).
struct Entry {
  wafer::Tensor tensor;
  double bound = 1;
};

/// Extends a graph by random sources and ops.
class Builder {
 public:
  Builder(Generated& out, Random& random);

  void sources();
  void ops(wafer::Index count);

  /// A late f32 value.
  Entry recent();
  bool is_logits(const Entry& e) const;
  wafer::Tensor labels_for(const wafer::Tensor& logits);
  /// All results of ops so far.
  std::vector<wafer::Tensor> results() const { return results_; }
  /// Parameters, f32 inputs and some values between.
  std::vector<wafer::Tensor> differentiable();

 private:
  using Index = wafer::Index;
  using Tensor = wafer::Tensor;
  bool unary();
  bool clamped();
  bool binary();
  bool clamped_binary();
  bool select();
  bool product();
  bool rows();
  bool sums();
  bool reshapes();
  bool transposes();
  bool classes();
  bool casts();
  bool integers();
  bool scalars();
  bool stretches();

  bool add(Tensor tensor, double bound);
  const Entry& any(const std::vector<Entry>& of);
  Entry partner(const Tensor& a);
  Entry flattened(const Entry& x);
  Entry parameter_of(const wafer::Shape& shape);
  Tensor input(const std::vector<wafer::Extent>& shape, Index classes);
  std::vector<wafer::Extent> with_axes(const std::vector<Index>& shape);
  std::vector<Index> random_shape(Index rank);
  Index random_extent();
  Index random_width();

  Generated& out_;
  Random& random_;
  std::vector<Index> extents_;  // a few, so that shapes meet
  std::vector<Entry> f32_, i32_, boolean_, f64_;
  std::vector<Tensor> results_;
  Index names_ = 0;
};

}  // namespace fuzz
