// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/tile.hpp>
#include <wafer/error.hpp>
#include <wafer/graph/axes_rule.hpp>
#include <wafer/graph/op.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

// What the sources of ops share.
namespace wafer::inline v0::ops {

/// Names of factors by dimension: literals, so that a Factor's name outlives every rule.
inline constexpr std::string_view kDimNames[kMaxRank] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

constexpr std::size_t at(int dim) { return static_cast<std::size_t>(dim); }

/// Throws UserError unless there are `count` inputs.
void expect_inputs(const Types& in, std::size_t count);
/// Throws UserError unless input `i` has this dtype; `what` names the input ("logits").
void expect_dtype(const Types& in, std::size_t i, DType dtype, std::string_view what);

/// `dims` of x counted from the front, ascending. Throws UserError, naming the function `who`, where one is
/// out of range or comes twice.
std::vector<Index> normalized_dims(const Tensor& x, const std::vector<int>& dims, std::string_view who);

/// The named axis that a dimension follows, or -1.
int axis_of(const Tensor& x, int dim);

/// The op that a kernel was given.
template <class Op>
const Op& op_of(const void* op) {
  return *static_cast<const Op*>(op);
}

/// Bytes of scratch for one row of the last dimension, where it has to be made adjacent; see for_each_row.
Index row_scratch_bytes(const TensorType& type);

/// Where the element at an index is; also where a row without elements, perhaps without memory, would be.
template <class T>
T* address(const Tile& tile, const std::array<Index, kMaxRank>& index) {
  Index offset = 0;
  for (int d = 0; d < tile.rank; ++d) offset += index[at(d)] * tile.stride[at(d)];
  return tile.as<T>() + offset;
}

/// Calls f(index, row) for each row of the last dimension of an f32 tile, ascending; `row` points to adjacent
/// elements, copied to `scratch` where they are not, or where the row is in panels. The rank is at least 1.
template <class F>
void for_each_row(const Tile& tile, void* scratch, F&& f) {
  const int last = tile.rank - 1;
  const Index length = tile.extent[at(last)];
  const Stride along = tile.stride_of(last);
  const bool adjacent = length <= 1 || (along.next == 1 && along.plain());
  for_each_index(last, tile.extent, [&](const std::array<Index, kMaxRank>& index) {
    const float* row = address<float>(tile, index);
    if (!adjacent) {
      float* const copy = static_cast<float*>(scratch);
      for (Index begin = 0; begin < length; begin += kPanel) {
        const float* const panel = row + along.at(begin);
        const Index end = std::min(length, begin + kPanel);
        for (Index i = begin; i < end; ++i) copy[i] = panel[(i - begin) * along.next];
      }
      row = copy;
    }
    f(index, row);
  });
}

}  // namespace wafer::inline v0::ops
