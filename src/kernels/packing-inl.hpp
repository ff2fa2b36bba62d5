// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// Copies of operands that a matrix product reads faster than the operands themselves. Included once per
// target, hence the guard that toggles.
#if defined(WAFER_KERNELS_PACKING_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WAFER_KERNELS_PACKING_INL_HPP
#undef WAFER_KERNELS_PACKING_INL_HPP
#else
#define WAFER_KERNELS_PACKING_INL_HPP
#endif

#include <algorithm>
#include <array>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {

struct Matrix {
  const float* data;
  Index row, col;  // strides
  const float* at(Index i, Index j) const { return data + i * row + j * col; }
};

/// By fours: the rows of a tile are few, and storing a part of a vector is slow with AVX2.
HWY_INLINE void copy_floats(const float* from, Index count, float* to) {
  const hn::FixedTag<float, 4> four;
  Index i = 0;
  for (; i + 4 <= count; i += 4) hn::StoreU(hn::LoadU(four, from + i), four, to + i);
  for (; i < count; ++i) to[i] = from[i];
}

/// A vector of blocks of four floats: one row's, or beside it that of the row four rows on.
using Blocks = hn::CappedTag<float, 8>;
inline constexpr Index kBlockRows = Index{hn::MaxLanes(Blocks())};
using BlockRows = std::array<const float*, kBlockRows>;

HWY_INLINE hn::Vec<Blocks> load_blocks(const BlockRows& rows, size_t i, Index p) {
  const hn::FixedTag<float, 4> f32;
  const auto low = hn::LoadU(f32, rows[i] + p);
#if HWY_CAP_GE256
  return hn::Combine(Blocks(), hn::LoadU(f32, rows[i + 4] + p), low);
#else
  return low;
#endif
}

/// to[q, j] = rows[j][p + q] for four q and all rows.
HWY_INLINE void transpose_blocks(const BlockRows& rows, Index p, float* to, Index to_row) {
  const Blocks f32;
  const hn::Repartition<double, Blocks> f64;
  const auto row0 = load_blocks(rows, 0, p);
  const auto row1 = load_blocks(rows, 1, p);
  const auto row2 = load_blocks(rows, 2, p);
  const auto row3 = load_blocks(rows, 3, p);
  const auto low01 = hn::BitCast(f64, hn::InterleaveLower(f32, row0, row1));  // 00 10 01 11
  const auto low23 = hn::BitCast(f64, hn::InterleaveLower(f32, row2, row3));
  const auto high01 = hn::BitCast(f64, hn::InterleaveUpper(f32, row0, row1));  // 02 12 03 13
  const auto high23 = hn::BitCast(f64, hn::InterleaveUpper(f32, row2, row3));
  hn::Store(hn::BitCast(f32, hn::InterleaveLower(f64, low01, low23)), f32, to);
  hn::Store(hn::BitCast(f32, hn::InterleaveUpper(f64, low01, low23)), f32, to + to_row);
  hn::Store(hn::BitCast(f32, hn::InterleaveLower(f64, high01, high23)), f32, to + 2 * to_row);
  hn::Store(hn::BitCast(f32, hn::InterleaveUpper(f64, high01, high23)), f32, to + 3 * to_row);
}

/// Rows of B are adjacent in memory.
inline void pack_natural(const Matrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  for (Index p = 0; p < depth; ++p) {
    const float* const from = b.at(p, 0);
    float* const to = panel + p * panel_row;
    Index j = 0;
    for (; j + kLanes <= columns; j += kLanes) hn::Store(hn::LoadU(kFloats, from + j), kFloats, to + j);
    if (j < columns) hn::Store(load_first(from + j, columns - j, 0), kFloats, to + j);
  }
}

/// Columns of B may be adjacent in memory. Columns that only fill the panel repeat the last one.
inline void pack_columns(const Matrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  constexpr Index kPiece = 64;  // so many rows of the panel stay in L1 while its columns are written
  for (Index begin = 0; begin < depth; begin += kPiece) {
    const Index end = std::min(depth, begin + kPiece);
    for (Index j = 0; j < panel_row; j += kBlockRows) {
      BlockRows from;
      for (Index i = 0; i < kBlockRows; ++i)
        from[static_cast<size_t>(i)] = b.at(0, std::min(j + i, columns - 1));
      float* const to = panel + j;
      Index p = begin;
      if (b.row == 1) {
        for (; p + 4 <= end; p += 4) transpose_blocks(from, p, to + p * panel_row, panel_row);
      }
      for (; p < end; ++p) {
        for (Index i = 0; i < kBlockRows; ++i)
          to[p * panel_row + i] = from[static_cast<size_t>(i)][p * b.row];
      }
    }
  }
}

/// A panel of B, `panel_row` columns wide, of which B has `columns`.
HWY_NOINLINE inline void pack_panel(const Matrix& b, Index depth, Index columns, float* panel,
                                    Index panel_row) {
  if (b.col == 1) {
    pack_natural(b, depth, columns, panel, panel_row);
  } else {
    pack_columns(b, depth, columns, panel, panel_row);
  }
}

/// Piece `i` of `pieces` even ones of [0, n): where it begins.
HWY_INLINE Index even(Index n, Index i, Index pieces) { return n * i / pieces; }

/// Even tiles of at most `tile_rows` rows of A, whose columns are adjacent in memory: tile after tile, and in
/// a tile the elements of one column of A after another.
HWY_NOINLINE inline void pack_row_tiles(const Matrix& a, Index m, Index depth, Index tile_rows, float* to) {
  constexpr Index kColumns = 16;  // so many are read to their end before the next: they lie on a page each
  const Index tiles = (m + tile_rows - 1) / tile_rows;
  for (Index begin = 0; begin < depth; begin += kColumns) {
    const Index end = std::min(depth, begin + kColumns);
    for (Index tile = 0; tile < tiles; ++tile) {
      const Index i = even(m, tile, tiles);
      const Index rows = even(m, tile + 1, tiles) - i;
      for (Index p = begin; p < end; ++p) copy_floats(a.at(i, p), rows, to + (tile * depth + p) * tile_rows);
    }
  }
}

/// Rows of A, whose elements are adjacent in memory, one right behind the other.
HWY_NOINLINE inline void pack_rows(const Matrix& a, Index m, Index depth, float* to) {
  for (Index i = 0; i < m; ++i) copy_floats(a.at(i, 0), depth, to + i * depth);
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
