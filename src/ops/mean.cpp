// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/axis_extent.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/ops/mean.hpp>
#include <wafer/ops/sum.hpp>
#include <wafer/ops/sum_all.hpp>

#include "ops/support.hpp"

#include <numeric>

namespace wafer::inline v0 {

Tensor mean(Tensor x) {
  std::vector<int> dims(ops::at(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return cast(sum_all(x) / element_count(x, dims), DType::f32);
}

Tensor mean(Tensor x, const std::vector<int>& dims) {
  if (ops::normalized_dims(x, dims, "mean").size() == ops::at(x.rank())) return mean(x);
  return sum(x, dims) / cast(element_count(x, dims), DType::f32);
}

Tensor mean_keep(Tensor x, const std::vector<int>& dims) {
  ops::normalized_dims(x, dims, "mean_keep");  // so that a fault is named after this function
  return sum_keep(x, dims) / cast(element_count(x, dims), DType::f32);
}

}  // namespace wafer::inline v0
