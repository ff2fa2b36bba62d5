// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/tile.hpp>

namespace wafer::inline v0 {

Tile broadcast_tile(const Tile& tile, int rank, const std::array<Index, kMaxRank>& extent) {
  Tile out = tile;
  out.rank = rank;
  for (int d = rank - 1; d >= 0; --d) {
    const int from = d - (rank - tile.rank);
    const auto to = static_cast<std::size_t>(d);
    const bool own = from >= 0 && !(tile.shape[static_cast<std::size_t>(from)] == 1 &&
                                    tile.extent[static_cast<std::size_t>(from)] == 1);
    out.stride[to] = own ? tile.stride[static_cast<std::size_t>(from)] : 0;
    out.extent[to] = extent[to];
    out.origin[to] = own ? tile.origin[static_cast<std::size_t>(from)] : 0;
    out.shape[to] = own ? tile.shape[static_cast<std::size_t>(from)] : 1;
  }
  return out;
}

}  // namespace wafer::inline v0
