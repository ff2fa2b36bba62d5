// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <span>

namespace wafer::inline v0 {

/// 2-norm of all elements of these tensors together, the squares summed in f64 in the order given: an f64
/// scalar. At least one tensor, all of one graph; throws UserError otherwise.
Tensor global_norm(std::span<const Tensor> tensors);

/// min(1, max_norm / (global_norm + 1e-6)), which clips gradients as torch.nn.utils.clip_grad_norm_ does: an
/// f32 scalar. A norm that is NaN gives NaN.
Tensor clip_scale(std::span<const Tensor> gradients, double max_norm);

}  // namespace wafer::inline v0
