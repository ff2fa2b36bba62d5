// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/vectors-inl.hpp"

#include <algorithm>
#include <array>
#include <utility>

// Rows of A are taken in blocks, and B is cut into panels two vectors wide and at most kDepth deep. A panel
// is copied to scratch (or read in place), and all rows of the block pass over it, a tile of rows at a time:
// the tile's part of C stays in registers while the kernel runs down the panel. Between panels of one column
// C itself carries the sums.

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {
namespace {

// As many accumulators as the registers hold beside two vectors of B and a broadcast element of A.
#if HWY_CAP_GE512 || HWY_TARGET == HWY_NEON  // 32 registers
constexpr Index kTileRows = 12;
#elif HWY_CAP_GE256
constexpr Index kTileRows = 6;
#else
constexpr Index kTileRows = 4;
#endif
constexpr Index kPanelColumns = 2 * kLanes;
constexpr Index kDepth = 192;  // a panel of AVX-512 is 24 KiB: it stays in L1
// Rows of A that pass over all panels before the next ones do: kRows x kDepth of it stay in L2.
constexpr Index kRows = 384;
static_assert((kPanelColumns + kRows) * kDepth * Index{sizeof(float)} <= kGemmScratchBytes);

// With fewer row tiles than this, copying a panel costs more than reading B at its own stride.
constexpr Index kTilesWorthPacking = 4;

// A piece for the tail: still in L1, and large enough that the call does not count.
constexpr Index kTailRows = 48;
// A product so small stays in L1 as a whole: it is one piece.
constexpr Index kOnePiece = 4096;

struct Matrix {
  const float* data;
  Index row, col;  // strides
  const float* at(Index i, Index j) const { return data + i * row + j * col; }
};

HWY_INLINE Vector broadcast(const float* p) {
  Vector v = set(*p);
#if HWY_CAP_GE512
  asm("" : "+v"(v.raw));  // else GCC loads and broadcasts anew in each product, and the load ports choke
#endif
  return v;
}

HWY_INLINE Vector load_columns(const float* p, Index columns) {
  return columns == kLanes ? hn::LoadU(kFloats, p) : load_first(p, columns, 0);
}

HWY_INLINE void store_columns(Vector v, float* p, Index columns) {
  if (columns == kLanes) {
    hn::StoreU(v, kFloats, p);
  } else {
    store_first(v, columns, p);
  }
}

// The accumulators have names, since GCC 12 spills an array of vectors; and the function is not inlined,
// since GCC spills again where the loops around it are in view.
#define WAFER_FOR_EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

/// Cache lines to fetch while a tile is computed: of what its tail will read, and of C.
struct Lines {
  Index count = 0;
  std::array<const std::byte*, kTileRows * 2 * (Tail::kMaxStreams + 1)> at;
};

// Rows of B that a packing tile fetches into the cache before it reads them.
constexpr Index kAhead = 24;

/// What a tile does beside its product: nothing; fetch lines into the cache; or copy the panel, which it
/// reads at its own stride in B, to where the other tiles find it.
enum class Beside { nothing, fetch, pack };

/// C[kRows, (kVectors−1)·kLanes + last_columns] (+)= A · panel.
template <int kRows, int kVectors, Beside kBeside>
HWY_NOINLINE void multiply_tile(Index depth, const float* a, Index a_row, Index a_col, const float* panel,
                                Index panel_row, float* c, Index c_row, Index last_columns, bool accumulate,
                                const Lines& lines, float* packed) {
  constexpr Index kLast = (kVectors - 1) * kLanes;
#define WAFER_DECLARE(i) Vector first##i = hn::Zero(kFloats), last##i = hn::Zero(kFloats);
  WAFER_FOR_EACH_ROW(WAFER_DECLARE)
  if (accumulate) {
#define WAFER_LOAD(i)                                                          \
  if constexpr (i < kRows) {                                                   \
    if constexpr (kVectors == 2) first##i = hn::LoadU(kFloats, c + i * c_row); \
    last##i = load_columns(c + i * c_row + kLast, last_columns);               \
  }
    WAFER_FOR_EACH_ROW(WAFER_LOAD)
  }
  // A pointer for every three rows: their strides 0, 1 and 2 then are addressing modes.
  const float* a0 = a;
  const float* a3 = kRows > 3 ? a + 3 * a_row : a;
  const float* a6 = kRows > 6 ? a + 6 * a_row : a;
  const float* a9 = kRows > 9 ? a + 9 * a_row : a;
  for (Index p = 0; p < depth; ++p) {
    const Vector b_first = hn::LoadU(kFloats, panel);
    const Vector b_last = hn::LoadU(kFloats, panel + kLast);
    if constexpr (kBeside == Beside::fetch) {  // one a step, so that none waits for another
      if (p < lines.count) __builtin_prefetch(lines.at[static_cast<size_t>(p)], 1);
    }
    if constexpr (kBeside == Beside::pack) {
      hn::Store(b_first, kFloats, packed);
      hn::Store(b_last, kFloats, packed + kLast);
      packed += kVectors * kLanes;
      __builtin_prefetch(panel + kAhead * panel_row);
      if constexpr (kVectors == 2) __builtin_prefetch(panel + kAhead * panel_row + kLanes);
    }
    asm("" : "+r"(a0), "+r"(a3), "+r"(a6), "+r"(a9));  // else GCC 12 keeps the four in one vector register
#define WAFER_STEP(i)                                                         \
  if constexpr (i < kRows) {                                                  \
    const float* from = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9;            \
    const Vector x = broadcast(from + i % 3 * a_row);                         \
    if constexpr (kVectors == 2) first##i = hn::MulAdd(x, b_first, first##i); \
    last##i = hn::MulAdd(x, b_last, last##i);                                 \
  }
    WAFER_FOR_EACH_ROW(WAFER_STEP)
    panel += panel_row;
    a0 += a_col;
    a3 += a_col;
    a6 += a_col;
    a9 += a_col;
  }
#define WAFER_STORE(i)                                                         \
  if constexpr (i < kRows) {                                                   \
    if constexpr (kVectors == 2) hn::StoreU(first##i, kFloats, c + i * c_row); \
    store_columns(last##i, c + i * c_row + kLast, last_columns);               \
  }
  WAFER_FOR_EACH_ROW(WAFER_STORE)
}

using MultiplyTile = decltype(multiply_tile<1, 1, Beside::nothing>);

/// The tiles of one and two vectors, by their number of rows less one.
template <Beside kBeside, int... kRowsLessOne>
constexpr std::array<std::array<MultiplyTile*, kTileRows>, 2> tiles_of(
    std::integer_sequence<int, kRowsLessOne...>) {
  return {
      {{multiply_tile<kRowsLessOne + 1, 1, kBeside>...}, {multiply_tile<kRowsLessOne + 1, 2, kBeside>...}}};
}
constexpr auto kAllRows = std::make_integer_sequence<int, kTileRows>();
constexpr auto kPlainTiles = tiles_of<Beside::nothing>(kAllRows);
constexpr auto kFetchingTiles = tiles_of<Beside::fetch>(kAllRows);
constexpr auto kPackingTiles = tiles_of<Beside::pack>(kAllRows);

/// The lines of a tile of C at (row, col), and of what goes with it.
void find_lines(const Tail& tail, Index row, Index rows, Index col, Index columns, const float* c,
                Index c_row, Lines& lines) {
  constexpr Index kLine = 64;
  lines.count = 0;
  const auto add = [&](const std::byte* from, Index row_bytes, Index bytes) {
    for (Index i = 0; i < rows; ++i, from += row_bytes) {
      lines.at[static_cast<size_t>(lines.count++)] = from;
      if (bytes > kLine) lines.at[static_cast<size_t>(lines.count++)] = from + kLine;
    }
  };
  add(reinterpret_cast<const std::byte*>(c), c_row * Index{sizeof(float)}, columns * Index{sizeof(float)});
  for (size_t s = 0; s < tail.stream_count; ++s) {
    const Tail::Stream& stream = tail.streams[s];
    add(stream.data + row * stream.row + col * stream.col, stream.row, columns * stream.col);
  }
}

/// to[p, j] = rows[j][p], 4 x 4 elements.
HWY_INLINE void transpose_4x4(const std::array<const float*, 4>& rows, Index p, float* to, Index to_row) {
  const hn::FixedTag<float, 4> f32;
  const hn::FixedTag<double, 2> f64;
  const auto row0 = hn::LoadU(f32, rows[0] + p);
  const auto row1 = hn::LoadU(f32, rows[1] + p);
  const auto row2 = hn::LoadU(f32, rows[2] + p);
  const auto row3 = hn::LoadU(f32, rows[3] + p);
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
void pack_natural(const Matrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  for (Index p = 0; p < depth; ++p) {
    const float* from = b.at(p, 0);
    float* to = panel + p * panel_row;
    Index j = 0;
    for (; j + kLanes <= columns; j += kLanes) hn::Store(hn::LoadU(kFloats, from + j), kFloats, to + j);
    if (j < columns) hn::Store(load_first(from + j, columns - j, 0), kFloats, to + j);
  }
}

/// Columns of B may be adjacent in memory. Columns that only fill the panel repeat the last one.
void pack_columns(const Matrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  for (Index j = 0; j < panel_row; j += 4) {
    std::array<const float*, 4> from;
    for (Index i = 0; i < 4; ++i) from[static_cast<size_t>(i)] = b.at(0, std::min(j + i, columns - 1));
    float* const to = panel + j;
    Index p = 0;
    if (b.row == 1) {
      for (; p + 4 <= depth; p += 4) transpose_4x4(from, p, to + p * panel_row, panel_row);
    }
    for (; p < depth; ++p) {
      for (Index i = 0; i < 4; ++i) to[p * panel_row + i] = from[static_cast<size_t>(i)][p * b.row];
    }
  }
}

HWY_NOINLINE void pack(const Matrix& b, Index depth, Index columns, float* panel, Index panel_row) {
  if (b.col == 1) {
    pack_natural(b, depth, columns, panel, panel_row);
  } else {
    pack_columns(b, depth, columns, panel, panel_row);
  }
}

/// Piece `i` of `pieces` even ones of [0, n): where it begins.
HWY_INLINE Index even(Index n, Index i, Index pieces) { return n * i / pieces; }

/// C[m, columns] (+)= A · B for a B of at most one panel; (row, col) is its place in C, for the tail.
/// `tile_step` is what lies between the tiles of an A that pack_rows made; 0 where A is a matrix.
void multiply_panel(Index m, Index columns, Index depth, const Matrix& a, Index tile_step, const Matrix& b,
                    float* c, Index c_row, bool accumulate, float* scratch, const Tail* tail, Index row,
                    Index col) {
  const Index vectors = columns > kLanes ? 2 : 1;
  const Index last_columns = columns - (vectors - 1) * kLanes;
  const Index tiles = (m + kTileRows - 1) / kTileRows;
  // The first tile packs the panel where rows of B are rows of it; few tiles read B as it is.
  const bool in_place = b.col == 1 && last_columns == kLanes;
  const bool first_packs = in_place && tiles >= kTilesWorthPacking;
  const float* panel = in_place ? b.data : scratch;
  Index panel_row = in_place ? b.row : vectors * kLanes;
  if (!in_place) pack(b, depth, columns, scratch, panel_row);
  const bool fetch = tail != nullptr && tail->stream_count > 0;
  Lines lines;
  Index ready = 0;  // rows that the tail has seen
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index i = even(m, tile, tiles);
    const Index rows = even(m, tile + 1, tiles) - i;
    const float* const from = tile_step > 0 ? a.data + tile * tile_step : a.at(i, 0);
    const bool packs = tile == 0 && first_packs;
    if (fetch && !packs) find_lines(*tail, row + i, rows, col, columns, c + i * c_row, c_row, lines);
    const auto& tiles_beside = packs ? kPackingTiles : fetch ? kFetchingTiles : kPlainTiles;
    tiles_beside[static_cast<size_t>(vectors - 1)][static_cast<size_t>(rows - 1)](
        depth, from, a.row, a.col, panel, panel_row, c + i * c_row, c_row, last_columns, accumulate, lines,
        scratch);
    if (packs) {
      panel = scratch;
      panel_row = vectors * kLanes;
    }
    if (tail == nullptr || (i + rows - ready < kTailRows && i + rows < m)) continue;
    tail->run(tail->self, row + ready, i + rows - ready, col, columns);
    ready = i + rows;
  }
}

/// Rows of A whose elements lie far apart in memory are copied next to each other where enough panels use
/// them: each step of a tile would touch another page.
constexpr Index kFarApart = 1024, kPanelsWorthPacking = 4;

/// Tiles of rows as multiply_panel cuts them, element after element of a column of A.
HWY_NOINLINE void pack_rows(const Matrix& a, Index m, Index depth, float* to) {
  const Index tiles = (m + kTileRows - 1) / kTileRows;
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index i = even(m, tile, tiles);
    const Index rows = even(m, tile + 1, tiles) - i;
    for (Index p = 0; p < depth; ++p, to += kTileRows) {
      const float* const from = a.at(i, p);
      for (Index r = 0; r < rows; ++r) to[r] = from[r];
    }
  }
}

void gemm(Index m, Index n, Index k, const float* a, Index a_row, Index a_col, const float* b, Index b_row,
          Index b_col, float* c, Index c_row, bool accumulate, float* scratch, const Tail* tail) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (Index i = 0; i < m && !accumulate; ++i) std::fill_n(c + i * c_row, n, 0.0F);
    if (tail != nullptr) tail->run(tail->self, 0, m, 0, n);
    return;
  }
  const bool one_piece = m * n <= kOnePiece;
  const Matrix right{b, b_row, b_col};
  const Index blocks = (m + kRows - 1) / kRows;
  const Index chunks = (k + kDepth - 1) / kDepth;
  const bool pack_a = a_row == 1 && a_col >= kFarApart && n >= kPanelsWorthPacking * kPanelColumns;
  float* const packed = scratch + kPanelColumns * kDepth;
  for (Index block = 0; block < blocks; ++block) {
    const Index i = even(m, block, blocks);
    const Index rows = even(m, block + 1, blocks) - i;
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      const Index p = even(k, chunk, chunks);
      const Index depth = even(k, chunk + 1, chunks) - p;
      Matrix left{a + i * a_row + p * a_col, a_row, a_col};
      if (pack_a) {
        pack_rows(left, rows, depth, packed);
        left = {packed, 1, kTileRows};
      }
      for (Index j = 0; j < n; j += kPanelColumns) {
        multiply_panel(rows, std::min(kPanelColumns, n - j), depth, left, pack_a ? depth * kTileRows : 0,
                       {right.at(p, j), b_row, b_col}, c + i * c_row + j, c_row, accumulate || chunk > 0,
                       scratch, chunk + 1 == chunks && !one_piece ? tail : nullptr, i, j);
      }
    }
  }
  if (tail != nullptr && one_piece) tail->run(tail->self, 0, m, 0, n);
}

}  // namespace

void fill_gemm(Table& table) { table.gemm = gemm; }

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
