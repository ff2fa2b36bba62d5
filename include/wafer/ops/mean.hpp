// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/tensor.hpp>

#include <vector>

namespace wafer::inline v0 {

/// Mean of all elements of an f32 tensor, sum and division in f64 and rounded once: an f32 scalar. Divides by
/// the run-time extents; of no elements it is NaN.
Tensor mean(Tensor x);
/// Mean over some dimensions, negative ones counted from the end: sum(x, dims) divided by their run-time
/// extents.
Tensor mean(Tensor x, const std::vector<int>& dims);
/// The same, with extent 1 in these dimensions.
Tensor mean_keep(Tensor x, const std::vector<int>& dims);

}  // namespace wafer::inline v0
