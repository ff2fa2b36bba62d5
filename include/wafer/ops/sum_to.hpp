// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/tensor.hpp>

namespace wafer::inline v0 {

/// The gradient of a broadcast operand: g summed over the dimensions in which `like` was stretched, in the
/// shape of `like`; g itself where no dimension was.
Tensor sum_to(const Tensor& g, const Tensor& like);

}  // namespace wafer::inline v0
