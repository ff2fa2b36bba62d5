// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder.hpp"

#include <algorithm>

namespace fuzz {

inline constexpr wafer::Index kMostElements = 70000;
/// Of all elements of a product together.
inline constexpr wafer::Index kMostTerms = 4'000'000;

inline int axis_of(const wafer::Tensor& t, int dim) {
  return t.data()->values[t.value()].axes[static_cast<std::size_t>(dim)];
}

/// Always, in each run.
inline bool same_extent(const wafer::Tensor& a, int dim_a, const wafer::Tensor& b, int dim_b) {
  return a.dim(dim_a) == b.dim(dim_b) && axis_of(a, dim_a) == axis_of(b, dim_b);
}

inline wafer::Shape shape_of(const std::vector<wafer::Index>& extents) {
  return wafer::Shape(std::span<const wafer::Index>(extents));
}

/// NumPy's broadcasting, where a named axis meets itself only.
inline bool fits(const wafer::Tensor& a, const wafer::Tensor& b) {
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const int da = a.rank() - back, db = b.rank() - back;
    const int axis_a = axis_of(a, da), axis_b = axis_of(b, db);
    const bool single_a = a.dim(da) == 1 && axis_a < 0, single_b = b.dim(db) == 1 && axis_b < 0;
    if (!single_a && !single_b && (a.dim(da) != b.dim(db) || axis_a != axis_b)) return false;
  }
  return true;
}

}  // namespace fuzz
