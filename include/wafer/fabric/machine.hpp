// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <string>
#include <vector>

namespace wafer::inline v0 {

/// A core's place on the mesh.
struct Core {
  Index row = 0, column = 0;
  friend bool operator==(const Core&, const Core&) = default;
};
/// "(3, 17)"
std::string text_of(Core core);

/// A rectangle of cores.
struct CoreArea {
  Index row = 0, column = 0;  ///< of its first core
  Index rows = 1, columns = 1;
  Index cores() const { return rows * columns; }
  bool contains(Core core) const {
    return core.row >= row && core.column >= column && core.row - row < rows &&
           core.column - column < columns;
  }
};
/// "2 x 3 cores at (0, 4)"
std::string text_of(const CoreArea& area);

/// Cores of one mesh or line at most: some twenty wafers. What is counted for each core fits into memory.
inline constexpr Index kMostMeshCores = Index{1} << 24;

/// A mesh of cores as the fabric model sees it, in cycles of its clock. A wavelet is one 32-bit word. All
/// figures are models: they choose among plans, and promise nothing about silicon.
struct Machine {
  std::string name{};
  Index rows = 1, columns = 1;     ///< cores
  double clock = 1e9;              ///< cycles a second
  Index sram = 0;                  ///< bytes of one core; 0 where unknown
  double link_cycles = 1;          ///< that a wavelet occupies a link, each way
  double hop_cycles = 1;           ///< from router to router
  double turn_cycles = 0;          ///< more where a route leaves a router at a right angle
  double ramp_cycles = 2;          ///< between a core and its router, each way (T_R)
  double op_cycles = 1;            ///< from a wavelet's arrival in the core to its result
  double add_cycles = 1;           ///< that a core works on each wavelet it adds to its own
  int ports = 1;                   ///< ramps of a core that carry a wavelet a cycle, each way: 1 to 4
  int colours = 24;                ///< static routes of a router
  int link_queues = 24;            ///< colours that can wait at one link at one time
  std::vector<CoreArea> faults{};  ///< cores that neither compute nor route

  Index cores() const { return rows * columns; }
  /// Cycles of one dependent stage: down the ramp, one op, up the ramp (k = 2 T_R + 1 in the formulas).
  double stage_cycles() const { return 2 * ramp_cycles + op_cycles; }
  /// Cycles a wavelet of a stream that cores add to on its way.
  double pace() const { return add_cycles > link_cycles ? add_cycles : link_cycles; }
  bool faulty(Core core) const;

  /// Cerebras WSE-2 and WSE-3; the source of each constant stands beside it in src/fabric/machine.cpp.
  static Machine wse2();
  static Machine wse3();
  /// Any mesh, with the constants above.
  static Machine mesh(Index rows, Index columns);

  /// Throws UserError unless there are 1 to 2^24 cores, every time is 0 to 1e6 cycles (a wavelet's on a link
  /// above 0), 1 to 4 ports, 1 to 256 colours and queues, and faults lie on the mesh.
  void check() const;
};

}  // namespace wafer::inline v0
