// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/communication.hpp>

#include <vector>

namespace wafer::inline v0 {

/// The short list of choices worth a plan: the batch on rows, on columns or not at all, with the feature
/// classes that carry most work on the other direction; hints of the graph (`split`) narrow it. Throws
/// CompileError naming a hint that cannot be met. One candidate for a fabric of one block.
std::vector<Choices> candidates(const Step& step, const StepFactors& factors, const Fabric& fabric,
                                Index micro_batches, Index workers);

/// Numbers of micro-batches that take less memory than one, ascending: 2, 4, ... and as many as the batch has
/// rows. None where an op needs the batch in one piece.
std::vector<Index> further_micro_batches(const Step& step);

/// Seconds of each program by the cost model: work of the busiest block by the roofline, and the data that it
/// waits for.
std::vector<double> predicted_seconds(const Step& step, const Partition& partition,
                                      const Communication& communication, const Fabric& fabric);

}  // namespace wafer::inline v0
