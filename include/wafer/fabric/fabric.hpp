// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <string>

namespace wafer::inline v0 {

inline namespace literals {
/// 64_KiB, 64_MiB, 1_GiB: bytes.
constexpr Index operator""_KiB(unsigned long long n) { return static_cast<Index>(n) << 10; }
constexpr Index operator""_MiB(unsigned long long n) { return static_cast<Index>(n) << 20; }
constexpr Index operator""_GiB(unsigned long long n) { return static_cast<Index>(n) << 30; }
}  // namespace literals

/// Memory of a mesh.
struct MeshMemory {
  Index sram = 64_MiB;  ///< bytes of each block
  Index dram = 1_GiB;   ///< bytes in all, outside of the mesh
};

/// One device: a 2-D mesh of core blocks, each with an arena of its own (SRAM), and DRAM outside. Rates are
/// for the cost model; they choose among plans and cannot change a result.
struct Fabric {
  std::string name{};
  Index rows = 1, columns = 1;  ///< blocks
  bool shared_memory = false;   ///< host: one block that computes in DRAM; no arenas of blocks, no messages
  Index sram = 0;               ///< bytes of each block's arena
  Index dram = 0;               ///< bytes; 0 where the host's memory is the limit
  Index fast_memory = 512_KiB;  ///< bytes that a tile should fit: the L2 cache of a core, a budget only
  double flops = 5e10;          ///< f32 operations a second of one block
  double memory_rate = 2e10;    ///< bytes a second between a block and its arena
  double link_rate = 1e10;      ///< bytes a second of one link, and of one block's way to DRAM
  double hop = 1e-7;            ///< seconds for a message to cross a block
  double setup = 2e-7;          ///< seconds to start an op
  double fast_rate = 1e11;      ///< bytes a second within the fast memory
  Index cache = 8_MiB;          ///< bytes that all cores of a host together keep near, a budget only
  double far_rate = 2e10;       ///< bytes a second of all cores together, from beyond the cache
  bool measured = false;        ///< rates and times are of this machine; see calibrate

  Index blocks() const { return rows * columns; }
  /// Always one: there are no ranks and no process groups.
  Index device_count() const { return 1; }

  /// The machine that runs the program: one block, one arena.
  static Fabric host();
  /// A mesh of blocks, each with its own arena; data moves between arenas by planned communication only.
  /// Throws UserError unless rows, columns and sizes are positive.
  static Fabric mesh(Index rows, Index columns, MeshMemory memory = {});

  /// Throws UserError unless there are 1 to 2^31 blocks (one on a host), a mesh has SRAM and DRAM, rates are
  /// 1 to 1e30 a second, and times 0 to 1000 seconds. `compile` asks for it.
  void check() const;
};

}  // namespace wafer::inline v0
