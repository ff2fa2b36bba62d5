// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "plans.hpp"

#include "compiler/stages.hpp"

#include <wafer/compiler/factors.hpp>
#include <wafer/compiler/simplify.hpp>

#include <algorithm>

namespace fuzz {

using namespace wafer;

namespace {

Index blocks(const Fabric& fabric, Mesh direction) {
  return direction == Mesh::rows ? fabric.rows : fabric.columns;
}

Mesh other(Mesh direction) { return direction == Mesh::rows ? Mesh::columns : Mesh::rows; }

// A step that trains on a statistic of the whole batch has it in one piece.
bool allows_micro_batches(const Step& step) {
  return std::all_of(step.programs.begin(), step.programs.end(), [](const Program& program) {
    return program.whole_batch == kNone || program.assignments.empty();
  });
}

// The least run of the batch that a plan has to share out; 0 where no step has a batch.
Index batch_extent(const Step& step) {
  Index least = 0;
  for (const Program& program : step.programs) {
    if (program.batch_axis < 0) continue;
    const Index extent = step.graph->axes[static_cast<std::size_t>(program.batch_axis)].extent;
    least = least == 0 ? extent : std::min(least, extent);
  }
  return least;
}

std::vector<FactorClass> feature_classes(const Step& step) {
  const StepFactors factors = analyse_factors(step, true);
  std::vector<FactorClass> out;
  for (const FactorClass& of : factors.classes) {
    const bool named = step.graph->values[of.value].axes[static_cast<std::size_t>(of.dim)] >= 0;
    if (of.uniform && of.flops > 0 && of.extent / of.unit >= 2 && !named) out.push_back(of);
  }
  return out;
}

}  // namespace

std::string RandomPlan::text() const {
  std::string out = fabric.name + ", threads " + std::to_string(threads) + ", " + choices.text();
  if (choices.feature.active) {
    out += ", feature is dimension " + std::to_string(choices.feature_dim) + " of value " +
           std::to_string(choices.feature_value);
  }
  return out + ", random_cuts " + std::to_string(choices.random_cuts);
}

RandomPlan random_plan(const Generated& made, Random& random) {
  RandomPlan plan;
  plan.threads = random.between(1, 3);
  Choices& choices = plan.choices;
  choices.workers = random.between(1, 3);
  const Step step = simplify(derive_step(made.requests));
  const Index batch = batch_extent(step);
  if (batch > 0 && allows_micro_batches(step))
    choices.micro_batches = random.chance(0.5) ? 1 : random.between(1, std::min<Index>(4, batch));
  if (random.chance(0.1)) {
    plan.fabric = Fabric::host();
    return plan;
  }
  plan.fabric = Fabric::mesh(random.between(1, 4), random.between(1, 4));
  if (random.chance(0.7)) choices.random_cuts = random.next() | 1;
  Mesh direction = random.chance(0.5) ? Mesh::rows : Mesh::columns;
  const Index most = std::min(blocks(plan.fabric, direction), batch / choices.micro_batches);
  if (random.chance(0.75) && most >= 2) choices.batch = {true, direction, random.between(2, most)};
  direction = other(direction);
  const std::vector<FactorClass> classes = feature_classes(step);
  if (classes.empty() || !random.chance(0.75)) return plan;
  if (blocks(plan.fabric, direction) < 2 && !choices.batch.active) direction = other(direction);
  const FactorClass& of = random.pick(classes);
  const Index parts = std::min(blocks(plan.fabric, direction), of.extent / of.unit);
  if (parts < 2) return plan;
  choices.feature = {true, direction, random.between(2, parts)};
  choices.feature_value = of.value;
  choices.feature_dim = of.dim;
  return plan;
}

void count_plan(const Executable& executable, Counts& counts) {
  const auto& stages = static_cast<const Stages&>(*executable.data()->plan);
  const Partition& partition = stages.partition;
  ++counts.plans;
  counts.hosts += stages.fabric.shared_memory ? 1 : 0;
  counts.micro_batched += stages.communication.micro_batches > 1 ? 1 : 0;
  std::array<bool, kDirections> cut{};
  for (const ProgramPartition& program : partition.programs) {
    for (const ValueCut& factor : program.factor) {
      for (std::size_t dir = 0; dir < kDirections; ++dir)
        cut[dir] = cut[dir] || (factor[dir] >= 0 && partition.parts[dir] > 1);
    }
  }
  const auto is_cut = [&](const Choices::Cut& of) {
    return of.active && cut[static_cast<std::size_t>(of.direction)];
  };
  const bool batch = is_cut(partition.choices.batch), feature = is_cut(partition.choices.feature);
  counts.cut_plans += batch || feature ? 1 : 0;
  if (batch || feature) ++counts.cuts[batch && feature ? "both" : batch ? "batch" : "feature"];
  for (const ProgramCommunication& program : stages.communication.programs) {
    for (const Transfer& t : program.transfers) {
      // Within one arena a copy is no message.
      if (t.kind != TransferKind::copy) ++counts.collectives[std::string(name_of(t.kind))];
    }
  }
}

}  // namespace fuzz
