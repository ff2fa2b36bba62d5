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

/// One that may be stored in panels.
struct PanelledMatrix {
  const float* data;
  Stride row, col;
  const float* at(Index i, Index j) const { return data + row.at(i) + col.at(j); }
};

/// By fours: the rows of a tile are few, and storing a part of a vector is slow with AVX2.
HWY_INLINE void copy_floats(const float* from, Index count, float* to) {
  const hn::FixedTag<float, 4> four;
  Index i = 0;
  for (; i + 4 <= count; i += 4) hn::StoreU(hn::LoadU(four, from + i), four, to + i);
  for (; i < count; ++i) to[i] = from[i];
}

/// Rows of B are adjacent in memory.
inline void pack_natural(const PanelledMatrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  for (Index p = 0; p < depth; ++p) {
    const float* const from = b.at(p, 0);
    float* const to = panel + p * panel_row;
    Index j = 0;
    for (; j + kLanes <= columns; j += kLanes) hn::Store(hn::LoadU(kFloats, from + j), kFloats, to + j);
    if (j < columns) hn::Store(load_first(from + j, columns - j, 0), kFloats, to + j);
  }
}

/// Columns of B may be adjacent in memory. Columns that only fill the panel repeat the last one.
inline void pack_columns(const PanelledMatrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  // So many rows of the panel stay in L1 while its columns are written.
  constexpr Index kPiece = kPanel;
  using D = hn::CappedTag<float, 8>;
  constexpr Index kAbreast = Index{hn::MaxLanes(D())};
  for (Index begin = 0; begin < depth; begin += kPiece) {
    const Index end = std::min(depth, begin + kPiece);
    for (Index j = 0; j < panel_row; j += kAbreast) {
      std::array<const float*, size_t{kAbreast}> from;
      for (Index i = 0; i < kAbreast; ++i)
        from[static_cast<size_t>(i)] = b.at(begin, std::min(j + i, columns - 1));
      if (end < depth) {
        for (Index i = 0; i < kAbreast; ++i) {
          const float* const ahead = b.at(end, std::min(j + i, columns - 1));
          __builtin_prefetch(ahead);
          __builtin_prefetch(ahead + 16);
        }
      }
      Index p = begin;
      for (; b.row.next == 1 && p + 4 <= end; p += 4) {
        const Blocks<D> blocks = load_blocks(D(), from.data(), p - begin).transposed();
        float* const to = panel + p * panel_row + j;
        hn::Store(blocks.v0, D(), to);
        hn::Store(blocks.v1, D(), to + panel_row);
        hn::Store(blocks.v2, D(), to + 2 * panel_row);
        hn::Store(blocks.v3, D(), to + 3 * panel_row);
      }
      for (; p < end; ++p) {
        for (Index i = 0; i < kAbreast; ++i)
          panel[p * panel_row + j + i] = from[static_cast<size_t>(i)][(p - begin) * b.row.next];
      }
    }
  }
}

/// A panel of B, `panel_row` columns wide, of which B has `columns`.
HWY_NOINLINE inline void pack_panel(const PanelledMatrix& b, Index depth, Index columns, float* panel,
                                    Index panel_row) {
  if (b.col.next == 1) {
    pack_natural(b, depth, columns, panel, panel_row);
  } else {
    pack_columns(b, depth, columns, panel, panel_row);
  }
}

/// Piece `i` of `pieces` even ones of [0, n): where it begins.
HWY_INLINE Index even(Index n, Index i, Index pieces) { return n * i / pieces; }

/// Columns of A are adjacent in memory.
inline void pack_row_tiles_by_columns(const Matrix& a, Index m, Index depth, Index tile_rows, float* to) {
  constexpr Index kColumns = 16;  // so many are read to their end before the next: they lie on a page each
  const Index tiles = (m + tile_rows - 1) / tile_rows;
  for (Index begin = 0; begin < depth; begin += kColumns) {
    const Index end = std::min(depth, begin + kColumns);
    for (Index tile = 0; tile < tiles; ++tile) {
      const Index i = even(m, tile, tiles);
      const Index rows = even(m, tile + 1, tiles) - i;
      float* column = to + (tile * depth + begin) * tile_rows;
      // What is stored beyond a column is where the next one will be; behind the last one lies another tile.
      const Index spilling = tile_rows < kLanes ? std::min(end, depth - 1) : begin;
      Index p = begin;
      for (; p < spilling; ++p, column += tile_rows) {
        __builtin_prefetch(a.at(i, p + kColumns));
        hn::StoreU(load_first(a.at(i, p), rows, 0), kFloats, column);
      }
      for (; p < end; ++p, column += tile_rows) copy_floats(a.at(i, p), rows, column);
    }
  }
}

/// Elements of a row of A are adjacent in memory, and a tile has no more rows than a vector of 8 lanes.
inline void pack_row_tiles_by_rows(const Matrix& a, Index m, Index depth, Index tile_rows, float* to) {
  using D = hn::CappedTag<float, 8>;
  constexpr Index kAbreast = Index{hn::MaxLanes(D())};
  const Index tiles = (m + tile_rows - 1) / tile_rows;
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index first = even(m, tile, tiles), last = even(m, tile + 1, tiles) - 1;
    std::array<const float*, size_t{kAbreast}> from;
    for (Index i = 0; i < kAbreast; ++i) from[static_cast<size_t>(i)] = a.at(std::min(first + i, last), 0);
    Index p = 0;
    for (; p + 4 <= depth; p += 4, to += 4 * tile_rows) {
      // What is stored beyond a column is where the next one will be.
      const Blocks<D> blocks = load_blocks(D(), from.data(), p).transposed();
      hn::StoreU(blocks.v0, D(), to);
      hn::StoreU(blocks.v1, D(), to + tile_rows);
      hn::StoreU(blocks.v2, D(), to + 2 * tile_rows);
      hn::StoreU(blocks.v3, D(), to + 3 * tile_rows);
    }
    for (; p < depth; ++p, to += tile_rows) {
      for (Index i = 0; i <= last - first; ++i) to[i] = from[static_cast<size_t>(i)][p];
    }
  }
}

/// Even tiles of at most `tile_rows` rows of A: tile after tile, and in a tile the elements of one column of
/// A after another. Writes up to 8 floats beyond the last.
HWY_NOINLINE inline void pack_row_tiles(const Matrix& a, Index m, Index depth, Index tile_rows, float* to) {
  if (a.row == 1) {
    pack_row_tiles_by_columns(a, m, depth, tile_rows, to);
  } else {
    pack_row_tiles_by_rows(a, m, depth, tile_rows, to);
  }
}

/// Rows of A, whose elements are adjacent in memory, one right behind the other.
HWY_NOINLINE inline void pack_rows(const Matrix& a, Index m, Index depth, float* to) {
  for (Index i = 0; i < m; ++i) copy_floats(a.at(i, 0), depth, to + i * depth);
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
