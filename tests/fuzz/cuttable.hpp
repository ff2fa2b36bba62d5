// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/factors.hpp>
#include <wafer/compiler/step.hpp>
#include <wafer/fabric/fabric.hpp>

#include <vector>

namespace fuzz {

/// A step that trains on a statistic of the whole batch has it in one piece.
bool allows_micro_batches(const wafer::Step& step);

/// The least greatest extent of the axes that steps have as their batch; 0 where none has a batch.
wafer::Index batch_extent(const wafer::Step& step);

/// The one named axis that all steps with a batch have as such, or -1.
int batch_of(const wafer::Step& step);

/// Whether a named axis is the batch of some step.
bool is_batch(const wafer::Step& step, int axis);

/// Classes of dimensions that can be cut besides the batch.
std::vector<wafer::FactorClass> feature_classes(const wafer::Step& step, const wafer::StepFactors& factors);

wafer::Index blocks(const wafer::Fabric& fabric, wafer::Mesh direction);
wafer::Mesh other(wafer::Mesh direction);

}  // namespace fuzz
