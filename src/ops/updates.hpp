// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elementwise.hpp"

#include <cmath>
#include <string>
#include <string_view>

// What the update ops of optimizers share.
namespace wafer::inline v0::ops {

/// Throws UserError unless the first inputs are `states` tensors of f32 and one shape, and the rest `scalars`
/// scalars of f32. `what` lists all of them for the message.
inline void expect_update(const Types& in, std::size_t states, std::size_t scalars, std::string_view what) {
  bool fits = in.size() == states + scalars;
  for (std::size_t i = 0; fits && i < in.size(); ++i) {
    fits = in[i] == TensorType{DType::f32, i < states ? in[0].shape : Shape{}};
  }
  if (!fits) throw UserError("expected " + std::string(what) + ", got " + text_of(in));
}

/// a·b + c as the kernels of a target compute it, so that plain references give the same bits.
struct MultiplyAdd {
  explicit MultiplyAdd(KernelTarget target) : fused(kernels::fuses(target)) {}
  float operator()(float a, float b, float c) const { return fused ? std::fma(a, b, c) : a * b + c; }
  bool fused;
};

/// Whether a moment is kept as 0 (kernels/updates.cpp says why).
inline bool has_faded(float moment) { return std::abs(moment) < kernels::kLeastNormal; }

/// Calls f(rows, cols, offsets, row strides) for matrices whose columns are adjacent in every operand: once
/// where the tiles or their transposes are such a matrix, as one row where its rows are adjacent too; else
/// for runs, or for single elements. Operands are the results, then the gradient.
template <class F>
void for_each_matrix(Tiles out, const Tile& gradient, const F& f) {
  using Offsets = LoopNest::Offsets;
  const int rank = gradient.rank;
  const bool transposed = rank == 2 && gradient.stride[1] != 1 && gradient.stride[0] == 1;
  const std::size_t row = transposed ? 1 : 0, col = transposed ? 0 : at(std::max(rank, 1) - 1);
  const Index height = rank == 2 ? gradient.extent[row] : 1;
  const Index width = rank == 0 ? 1 : gradient.extent[col];
  bool matrix = rank == 1 || rank == 2, one_row = true;
  Offsets rows{};
  for (std::size_t o = 0; o <= out.size(); ++o) {
    const Tile& tile = o < out.size() ? out[o] : gradient;
    matrix = matrix && tile.stride[col] == 1;
    rows[o] = tile.stride[row];
    one_row = one_row && (height == 1 || rows[o] == width);
  }
  if (matrix) return one_row ? f(1, height * width, Offsets{}, rows) : f(height, width, Offsets{}, rows);
  std::array<Tile, LoopNest::kMaxOperands> others;
  std::copy(out.begin() + 1, out.end(), others.begin());
  others[out.size() - 1] = gradient;
  const LoopNest nest = loop_nest(out[0], Tiles(others.data(), out.size()));
  const Index n = nest.run();
  bool adjacent = true;
  for (std::size_t o = 0; o < nest.operands; ++o)
    adjacent = adjacent && (n == 1 || nest.run_stride()[o] == 1);
  nest.for_each_run([&](const Offsets& offsets) {
    if (adjacent) return f(1, n, offsets, Offsets{});
    f(n, 1, offsets, nest.run_stride());
  });
}

}  // namespace wafer::inline v0::ops
