// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/memory_plan.hpp>

#include <array>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// How the work of one block on one op is divided into kernel calls: at most two factors, in tiles of a
/// length.
struct OpTiling {
  std::array<std::int8_t, 2> factor{-1, -1};
  std::array<Index, 2> length{0, 0};
  std::array<Index, 2> count{1, 1};
  Index tiles() const { return count[0] * count[1]; }
};

struct Tiling {
  std::vector<std::vector<OpTiling>> programs;  ///< of each op of each step

  /// Throws InternalError where tiles do not cover a factor, or cut one that cannot be cut, or a panel, and
  /// where they are of several panels though the kernel does not take them.
  void verify(const Step& step, const StepFactors& factors, const Partition& partition,
              const Communication& communication, const Fusion& fusion, const Layout& layout) const;
  std::string dump(const Step& step) const;
};

/// Enough tiles that all workers have some, none so small that claiming it costs more than running it.
/// A tail has the tiles of its head. Where operands are in panels, a tile is of whole ones, and of one alone
/// where the kernel does not take panels.
Tiling tile_step(const Step& step, const StepFactors& factors, const Partition& partition,
                 const Communication& communication, const Fusion& fusion, const Layout& layout,
                 const MemoryPlan& memory, const Fabric& fabric);

/// How a factor of an op is divided among blocks and micro-batches.
Division division_of(const Step& step, std::size_t program, const OpFactor& factor, std::int8_t direction,
                     Index feature_unit, bool micro);
/// The same for each factor of one op.
std::vector<Division> divisions_of(const Step& step, const StepFactors& factors, const Partition& partition,
                                   const Communication& communication, std::size_t program, std::size_t op);

}  // namespace wafer::inline v0
