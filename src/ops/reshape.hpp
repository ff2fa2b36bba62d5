// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

namespace wafer::inline v0::ops {

/// x under another shape, with its named axes of one index in the dimensions that `axes` says: what gradients
/// need, which know where an axis came from. x itself where it is so already. Throws UserError where an axis
/// would be lost.
Tensor reshape_to(Tensor x, const Shape& shape, AxisTags axes);

/// The named axes of a tensor's dimensions. A copy, since values move where ops are added.
AxisTags axes_of(const Tensor& x);

}  // namespace wafer::inline v0::ops
