// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.hpp"

#include <string_view>

// What ops on rows of class scores share.
namespace wafer::inline v0::ops {

/// Throws UserError unless inputs 0 and 1 are logits [.., c] of f32, c >= 1, and labels [..] of i32.
void expect_logits_and_label(const Types& in);

/// Throws UserError unless the input is scores [.., c] of f32 with c >= 1.
void expect_scores(const TensorType& scores, std::string_view what);

/// The shape without its last dimension.
Shape rows_of(const Shape& scores);

/// Labels that are checked, when they run, to be classes of these logits. Throws UserError where `op`, which
/// errors name, does not take the two.
Tensor checked_label(const OpHandle& op, const Tensor& logits, const Tensor& label);

/// Index of the first greatest of n elements; a NaN counts as greatest.
Index argmax(Index n, const float* x, Index stride);

}  // namespace wafer::inline v0::ops
