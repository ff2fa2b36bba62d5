// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/packing-inl.hpp"
#include "kernels/vectors-inl.hpp"

#include <algorithm>
#include <array>
#include <limits>
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
// A step of a tile takes AVX2 six cycles, in which it decodes what is around its products as well: the more
// of that, the slower on a hyperthread that shares the decoder. So rows of A are copied into tiles wherever
// that pays: there they are adjacent, and neither strides nor far lines cost anything.
constexpr bool kShortSteps = HWY_TARGET == HWY_AVX2;
constexpr Index kDepth = kShortSteps ? 416 : 264;  // a panel is 26 or 33 KiB: most of it stays in L1
// Rows of A that pass over all panels before the next ones do: kRows x kDepth of it stay in L2.
constexpr Index kRows = kShortSteps ? 240 : 384;
static_assert(!kShortSteps || kTileRows <= 8, "what pack_row_tiles can do");
static_assert(((kPanelColumns + kRows) * kDepth + kLanes) * Index{sizeof(float)} <= kGemmScratchBytes);

// With fewer row tiles than this, copying a panel costs more than reading B at its own stride.
constexpr Index kTilesWorthPacking = 4;

// A piece for the tail: still in L1, and large enough that the call does not count.
constexpr Index kTailRows = 48;
// A product so small stays in L1 as a whole: it is one piece.
constexpr Index kOnePiece = 4096;

HWY_INLINE Vector broadcast(const float* p) {
  Vector v = set(*p);
#if HWY_CAP_GE512
  asm("" : "+v"(v.raw));  // else GCC loads and broadcasts anew in each product, and the load ports choke
#endif
  return v;
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

/// C[kRows, (kVectors−1)·kLanes + last_columns] (+)= A · panel. `kRowsAdjacent`: a_row is 1.
template <int kRows, int kVectors, Beside kBeside, bool kRowsAdjacent>
HWY_NOINLINE void multiply_tile(Index depth, const float* a, Index a_row, Index a_col, const float* panel,
                                Index panel_row, float* c, Index c_row, Index last_columns, bool accumulate,
                                const Lines& lines, float* packed) {
  constexpr Index kLast = (kVectors - 1) * kLanes;
#define WAFER_DECLARE(i) Vector first##i = hn::Zero(kFloats), last##i = hn::Zero(kFloats);
  WAFER_FOR_EACH_ROW(WAFER_DECLARE)
  const bool whole = last_columns == kLanes;
  if (accumulate) {
    const float* row = c;
#define WAFER_LOAD(i)                                                                             \
  if constexpr (i < kRows) {                                                                      \
    if constexpr (kVectors == 2) first##i = hn::LoadU(kFloats, row);                              \
    last##i = whole ? hn::LoadU(kFloats, row + kLast) : load_first(row + kLast, last_columns, 0); \
    row += c_row;                                                                                 \
    asm("" : "+r"(row)); /* else GCC works out all addresses first, and spills them */            \
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
    asm("" : "+r"(a0), "+r"(a3));  // else GCC 12 keeps the four in one vector register
    if constexpr (kRows > 6) asm("" : "+r"(a6), "+r"(a9));
#define WAFER_STEP(i)                                                           \
  if constexpr (i < kRows) {                                                    \
    const float* three = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9;             \
    const Vector x = broadcast(kRowsAdjacent ? a0 + i : three + i % 3 * a_row); \
    if constexpr (kVectors == 2) first##i = hn::MulAdd(x, b_first, first##i);   \
    last##i = hn::MulAdd(x, b_last, last##i);                                   \
  }
    WAFER_FOR_EACH_ROW(WAFER_STEP)
    panel += panel_row;
    a0 += a_col;
    if constexpr (!kRowsAdjacent && kRows > 3) a3 += a_col;
    if constexpr (!kRowsAdjacent && kRows > 6) {
      a6 += a_col;
      a9 += a_col;
    }
  }
#define WAFER_STORE(i)                                             \
  if constexpr (i < kRows) {                                       \
    if constexpr (kVectors == 2) hn::StoreU(first##i, kFloats, c); \
    if (whole) {                                                   \
      hn::StoreU(last##i, kFloats, c + kLast);                     \
    } else {                                                       \
      store_first(last##i, last_columns, c + kLast);               \
    }                                                              \
    c += c_row;                                                    \
    asm("" : "+r"(c));                                             \
  }
  WAFER_FOR_EACH_ROW(WAFER_STORE)
}

using MultiplyTile = decltype(multiply_tile<1, 1, Beside::nothing, false>);
using MultiplyTiles = std::array<std::array<MultiplyTile*, kTileRows>, 2>;

/// The tiles of one and two vectors, by their number of rows less one.
template <Beside kBeside, bool kRowsAdjacent, int... kRowsLessOne>
constexpr MultiplyTiles tiles_of(std::integer_sequence<int, kRowsLessOne...>) {
  return {{{multiply_tile<kRowsLessOne + 1, 1, kBeside, kRowsAdjacent>...},
           {multiply_tile<kRowsLessOne + 1, 2, kBeside, kRowsAdjacent>...}}};
}

/// By what they do beside their product.
template <bool kRowsAdjacent>
constexpr std::array<MultiplyTiles, 3> all_tiles() {
  constexpr auto kAllRows = std::make_integer_sequence<int, kTileRows>();
  return {tiles_of<Beside::nothing, kRowsAdjacent>(kAllRows),
          tiles_of<Beside::fetch, kRowsAdjacent>(kAllRows), tiles_of<Beside::pack, kRowsAdjacent>(kAllRows)};
}
constexpr auto kTiles = all_tiles<false>();
constexpr auto kTilesOfAdjacentRows = all_tiles<true>();

/// A part of a matrix whose lines are to be fetched; strides are in bytes.
void add_lines(const std::byte* from, Index rows, Index row_bytes, Index bytes, Lines& lines) {
  constexpr Index kLine = 64;
  for (Index i = 0; i < rows; ++i, from += row_bytes) {
    lines.at[static_cast<size_t>(lines.count++)] = from;
    if (bytes > kLine) lines.at[static_cast<size_t>(lines.count++)] = from + kLine;
  }
}

/// What goes with a tile of C at (row, col).
void add_streams(const Tail& tail, Index row, Index rows, Index col, Index columns, Lines& lines) {
  for (size_t s = 0; s < tail.stream_count; ++s) {
    const Tail::Stream& stream = tail.streams[s];
    add_lines(stream.data + stream.row.at(row) + stream.col.at(col), rows, stream.row.next,
              columns * stream.col.next, lines);
  }
}

/// Some rows of A as tiles find them.
struct Left {
  Matrix rows;
  Index tile_step = 0;  // between tiles that pack_row_tiles made; 0 where A is a matrix
  const float* tile(Index tile, Index row) const {
    return tile_step > 0 ? rows.data + tile * tile_step : rows.at(row, 0);
  }
};

/// Columns of C, no more than a panel, and what goes with them.
struct Columns {
  Index row, col, count;  // place in C, for the tail
  float* c;
  Index c_row;
  bool c_is_far;
  bool accumulate;
  const Tail* tail;
};

/// C[m, columns] (+)= A · B for a B of at most one panel.
void multiply_panel(Index m, Index depth, const Left& a, const PanelledMatrix& b, const Columns& of,
                    float* scratch) {
  const Index vectors = of.count > kLanes ? 2 : 1;
  const Index last_columns = of.count - (vectors - 1) * kLanes;
  const Index tiles = (m + kTileRows - 1) / kTileRows;
  // The first tile packs the panel where rows of B are rows of it; few tiles read B as it is, and all where
  // it is stored so.
  const bool in_place = b.col.next == 1 && last_columns == kLanes;
  const bool first_packs = in_place && tiles >= kTilesWorthPacking && b.row.next != vectors * kLanes;
  const float* panel = in_place ? b.data : scratch;
  Index panel_row = in_place ? b.row.next : vectors * kLanes;
  if (!in_place) pack_panel(b, depth, of.count, scratch, panel_row);
  const bool fetch_streams = of.tail != nullptr && of.tail->stream_count > 0;
  Lines lines;
  Index ready = 0;  // rows that the tail has seen
  for (Index tile = 0, i = 0, rows = 0; tile < tiles; ++tile, i += rows) {
    rows = even(m, tile + 1, tiles) - i;
    const bool packs = tile == 0 && first_packs;
    lines.count = 0;
    const Index first =
        of.accumulate ? i + rows : i;  // sums that are there are read before, C is written after
    if ((of.c_is_far || fetch_streams) && first < m && !packs) {
      add_lines(reinterpret_cast<const std::byte*>(of.c + first * of.c_row), std::min(kTileRows, m - first),
                of.c_row * Index{sizeof(float)}, of.count * Index{sizeof(float)}, lines);
    }
    if (fetch_streams && !packs) add_streams(*of.tail, of.row + i, rows, of.col, of.count, lines);
    const Beside beside = packs ? Beside::pack : lines.count > 0 ? Beside::fetch : Beside::nothing;
    const auto& kernels = a.rows.row == 1 ? kTilesOfAdjacentRows : kTiles;
    const MultiplyTiles& multiply = kernels[static_cast<size_t>(beside)];
    multiply[static_cast<size_t>(vectors - 1)][static_cast<size_t>(rows - 1)](
        depth, a.tile(tile, i), a.rows.row, a.rows.col, panel, panel_row, of.c + i * of.c_row, of.c_row,
        last_columns, of.accumulate, lines, scratch);
    if (packs) {
      panel = scratch;
      panel_row = vectors * kLanes;
    }
    if (of.tail == nullptr || (i + rows - ready < kTailRows && i + rows < m)) continue;
    of.tail->run(of.tail->self, of.row + ready, i + rows - ready, of.col, of.count);
    ready = i + rows;
  }
}

/// With fewer columns than this, copying rows of A costs more than reading them where they are.
constexpr Index kColumnsWorthCopying = 128;
/// Rows that lie a multiple of this apart are copied: they would share a few places of the L1 cache.
constexpr Index kColliding = 1024;
/// A block of rows of C with more elements does not stay in L2 while A and B pass. With AVX2 fetching it
/// costs more than it saves.
constexpr Index kFarC = kShortSteps ? std::numeric_limits<Index>::max() : 64 * 1024;

/// Rows of A where they are, or a copy of them that is read faster. Where A is transposed each step of a tile
/// would touch another page, and lines that share a few places of L1: the copy takes a fifth less time on
/// Ice Lake.
Left reach_rows(const Matrix& a, Index m, Index depth, bool many_columns, float* copy) {
  const bool into_tiles = m >= kTileRows && (a.row == 1 || (kShortSteps && a.col == 1));
  if (many_columns && into_tiles) {
    pack_row_tiles(a, m, depth, kTileRows, copy);
    return {{copy, 1, kTileRows}, depth * kTileRows};
  }
  if (many_columns && a.col == 1 && a.row != 0 && a.row % kColliding == 0) {
    pack_rows(a, m, depth, copy);
    return {{copy, depth, 1}};
  }
  return {a};
}

/// A product of nothing.
void fill_zeros(const Product& x) {
  for (Index j = 0; j < x.n; j += kPanel) {
    const Index columns = std::min(kPanel, x.n - j);
    for (Index i = 0; i < x.m && !x.accumulate; ++i)
      std::fill_n(x.c + x.c_row.at(i) + x.c_col.at(j), columns, 0.0F);
    if (x.tail != nullptr) x.tail->run(x.tail->self, 0, x.m, j, columns);
  }
}

void gemm(const Product& x) {
  const Index m = x.m, n = x.n, k = x.k;
  if (m == 0 || n == 0) return;
  if (k == 0) return fill_zeros(x);
  const bool one_piece = m * n <= kOnePiece && (n <= kPanel || x.c_col.plain());
  const bool many_columns = n >= kColumnsWorthCopying;
  const Matrix left{x.a, x.a_row.next, x.a_col.next};
  const PanelledMatrix right{x.b, x.b_row, x.b_col};
  const Index blocks = (m + kRows - 1) / kRows;
  // Rows of B that are in panels are cut between these.
  const Index unit = x.b_row.plain() ? 1 : kPanel;
  const Index units = (k + unit - 1) / unit, units_at_once = kDepth / unit;
  const Index chunks = (units + units_at_once - 1) / units_at_once;
  float* const copy = x.scratch + kPanelColumns * kDepth;
  for (Index block = 0; block < blocks; ++block) {
    const Index i = even(m, block, blocks);
    const Index rows = even(m, block + 1, blocks) - i;
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      const Index p = even(units, chunk, chunks) * unit;
      const Index depth = std::min(k, even(units, chunk + 1, chunks) * unit) - p;
      const Left reached = reach_rows({left.at(i, p), left.row, left.col}, rows, depth, many_columns, copy);
      for (Index j = 0; j < n; j += kPanelColumns) {
        const Columns columns{i,
                              j,
                              std::min(kPanelColumns, n - j),
                              x.c + x.c_row.at(i) + x.c_col.at(j),
                              x.c_row.next,
                              rows * n > kFarC,
                              x.accumulate || chunk > 0,
                              chunk + 1 == chunks && !one_piece ? x.tail : nullptr};
        multiply_panel(rows, depth, reached, {right.at(p, j), x.b_row, x.b_col}, columns, x.scratch);
      }
    }
  }
  if (x.tail != nullptr && one_piece) x.tail->run(x.tail->self, 0, m, 0, n);
}

}  // namespace

void fill_gemm(Table& table) { table.gemm = gemm; }

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
