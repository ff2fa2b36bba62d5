// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>
#include <wafer/core/target.hpp>
#include <wafer/fabric/fabric.hpp>
#include <wafer/runtime/executable.hpp>

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace wafer::inline v0 {

struct Choices;

/// Hints and limits of a compilation. All have defaults; new ones are added at the end.
struct Options {
  /// Parts that the batch is run in, one after the other; 0: chosen, one unless memory asks for more, or on a
  /// host more are faster, since parts of a tall batch stay in its caches. Results do not depend on it.
  Index micro_batches = 0;
  /// The same bits from every plan. Always so on a host; on a mesh `false` (trees and rings) is not there yet
  /// and is a CompileError.
  std::optional<bool> reproducible = std::nullopt;
  /// Bytes that a plan may use of each block's SRAM (not on a host, which has none) and of DRAM; 0: the
  /// fabric's. Taken is the plan of least predicted time that fits; where none does, a CompileError names
  /// what the closest one needs and for what.
  Index sram_limit = 0;
  Index dram_limit = 0;
  /// Instruction set of the compiled kernels. A CompileError where the CPU lacks it.
  KernelTarget kernel_target = KernelTarget::automatic;
  /// Threads to plan tiles for; 0: the CPUs that this process may use. On a host the plan is for one thread
  /// where that is faster. A session may run with any other number.
  Index threads = 0;
  /// Whether weights of a host may be stored in panels, as products read them (see `Plan::dump("layout")`),
  /// in up to a quarter more memory where there is so much. Results do not depend on it, nor does what a
  /// session gets, sets and saves.
  bool panels = true;
};

/// Compiles named steps on one graph for a fabric. Throws UserError for a description that is wrong, and
/// CompileError for one that cannot be planned as asked; each names op or hint, layer path, what was expected
/// and what came.
Executable compile(std::span<const NamedRequest> requests, const Fabric& fabric, const Options& options = {});
inline Executable compile(std::initializer_list<NamedRequest> requests, const Fabric& fabric,
                          const Options& options = {}) {
  return compile(std::span<const NamedRequest>(requests.begin(), requests.size()), fabric, options);
}
/// One step, without a name.
inline Executable compile(Request request, const Fabric& fabric, const Options& options = {}) {
  return compile({NamedRequest{"", std::move(request)}}, fabric, options);
}

/// The same with all choices made by the caller: for tests and tools.
Executable compile_with(std::span<const NamedRequest> requests, const Fabric& fabric, const Options& options,
                        const Choices& choices);

}  // namespace wafer::inline v0
