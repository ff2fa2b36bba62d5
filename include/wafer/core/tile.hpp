// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/core/shape.hpp>
#include <wafer/core/target.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace wafer::inline v0 {

/// Elements of a dimension that are adjacent in a matrix stored in panels: as many as every register tile of
/// a product is wide, or a multiple.
inline constexpr Index kPanel = 32;

/// How far apart elements lie along a dimension, in elements of memory: one and the next within a panel, and
/// one and the same place of the next panel. Without panels the latter is kPanel times the former.
struct Stride {
  Index next = 0;
  Index panel = 0;
  constexpr Stride() = default;
  constexpr Stride(Index plain) : next(plain), panel(kPanel * plain) {}  // (any plain stride is one)
  constexpr Stride(Index within, Index between) : next(within), panel(between) {}
  constexpr bool plain() const { return panel == kPanel * next; }
  /// Of element i from the first of a panel.
  constexpr Index at(Index i) const { return i / kPanel * panel + i % kPanel * next; }
};

/// The piece of one operand that a kernel call works on: strided memory, and where it lies in the whole.
/// Strides count elements and may be 0. `extent` and `shape` are run-time ones, so loops and divisors need no
/// mask.
struct Tile {
  void* data = nullptr;                  ///< first element of the piece
  DType dtype = DType::f32;              ///< type of the elements
  int rank = 0;                          ///< number of dimensions
  std::array<Index, kMaxRank> extent{};  ///< of the piece
  std::array<Index, kMaxRank> stride{};  ///< in elements
  std::array<Index, kMaxRank> origin{};  ///< index of the first element in the whole operand
  std::array<Index, kMaxRank> shape{};   ///< extents of the whole operand
  /// The dimension that is stored in panels, or -1; `stride` holds within a panel, `panel` between two. The
  /// tile then begins with a panel. Only kernels that say `takes_panels` meet one.
  int panelled = -1;
  Index panel = 0;

  /// The elements as T; the op's `infer` has settled the type.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  Stride stride_of(int dim) const {
    const Index next = stride[static_cast<std::size_t>(dim)];
    return dim == panelled ? Stride(next, panel) : Stride(next);
  }
  Index size() const {
    Index product = 1;
    for (int d = 0; d < rank; ++d) product *= extent[static_cast<std::size_t>(d)];
    return product;
  }
  /// True where the elements lie densely, in row-major order.
  bool contiguous() const {
    Index expected = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      if (extent[i] != 1 && stride[i] != expected) return false;
      expected *= extent[i];
    }
    return true;
  }
};
/// The tiles of all inputs, or of all results, of one kernel call. Inputs must not be written.
using Tiles = std::span<const Tile>;

/// What is to run on each piece of a kernel's first result as soon as it is complete, while it is in cache:
/// rows [row, row + rows) and columns likewise, of the tile's last two dimensions. The pieces make up the
/// tile, each within a panel; for each column they come in ascending order of rows.
struct Tail {
  /// Memory that `run` reads beside the result: one element for each of the result's, strides in bytes. A
  /// kernel may fetch it into the cache beforehand.
  struct Stream {
    const std::byte* data = nullptr;
    Stride row, col;
  };
  static constexpr std::size_t kMaxStreams = 4;

  void (*run)(void* self, Index row, Index rows, Index col, Index cols) = nullptr;
  void* self = nullptr;
  std::array<Stream, kMaxStreams> streams{};
  std::size_t stream_count = 0;
};

/// What a kernel may know beside its tiles.
struct Context {
  std::string_view where;   ///< op and layer path, for messages
  std::uint64_t seed = 0;   ///< of the session
  Index step = 0;           ///< number of this step, from 1
  bool accumulate = false;  ///< continue the sums in the result tiles, instead of starting them
  KernelTarget target = KernelTarget::automatic;  ///< instruction set to use; never `automatic` in a run
  void* scratch = nullptr;                        ///< of this worker, aligned to 64 bytes
  Index scratch_bytes = 0;                        ///< at least what the op asked for
  std::span<const Index> axes;                    ///< run-time extents of the graph's named axes
  const Tail* tail = nullptr;  ///< set for kernels that say `runs_tail`, where ops follow theirs
};

/// The tile seen with the rank and extents of a broadcast result: missing and single dimensions get stride 0.
Tile broadcast_tile(const Tile& tile, int rank, const std::array<Index, kMaxRank>& extent);

/// Calls f(index) for each index of a rank-dimensional box, last dimension fastest. For plain references.
template <class F>
void for_each_index(int rank, const std::array<Index, kMaxRank>& extent, F&& f) {
  std::array<Index, kMaxRank> index{};
  for (int d = 0; d < rank; ++d) {
    if (extent[static_cast<std::size_t>(d)] == 0) return;
  }
  for (;;) {
    f(static_cast<const std::array<Index, kMaxRank>&>(index));
    int d = rank - 1;
    for (; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      if (++index[i] < extent[i]) break;
      index[i] = 0;
    }
    if (d < 0) return;
  }
}

/// The element of a tile at an index of at least its rank.
template <class T>
T& element(const Tile& tile, const std::array<Index, kMaxRank>& index) {
  Index offset = 0;
  for (int d = 0; d < tile.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    offset += index[i] * tile.stride[i];
  }
  return tile.as<T>()[offset];
}

}  // namespace wafer::inline v0
