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

/// Calls f(rows, cols, offsets, row strides) for matrices whose columns are adjacent in every operand: once
/// where the tiles are such a matrix, as one row where its rows are adjacent too; else for runs, or for
/// single elements. The first tile counts as operand 0.
template <class F>
void for_each_matrix(const Tile& first, Tiles others, const F& f) {
  using Offsets = LoopNest::Offsets;
  const int rank = first.rank;
  const auto columns_are_adjacent = [&](const Tile& tile) { return tile.stride[at(rank - 1)] == 1; };
  bool matrix = (rank == 1 || rank == 2) && columns_are_adjacent(first);
  Offsets rows{first.stride[0]};
  for (std::size_t i = 0; i < others.size(); ++i) {
    matrix = matrix && columns_are_adjacent(others[i]);
    rows[i + 1] = others[i].stride[0];
  }
  if (matrix) {
    const Index height = rank == 1 ? 1 : first.extent[0], width = first.extent[at(rank - 1)];
    bool one_row = true;
    for (std::size_t i = 0; i <= others.size(); ++i) one_row = one_row && (height == 1 || rows[i] == width);
    return one_row ? f(1, height * width, Offsets{}, rows) : f(height, width, Offsets{}, rows);
  }
  const LoopNest nest = loop_nest(first, others);
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
