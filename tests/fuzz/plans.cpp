// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "plans.hpp"

#include "cuttable.hpp"

#include <wafer/compiler/simplify.hpp>

#include <algorithm>

namespace fuzz {

using namespace wafer;

namespace {

// Up to 3 x 5 or 5 x 3, often a line. A host has panels, where there are weights for them.
Fabric random_fabric(const Generated& made, Random& random) {
  if (random.chance(made.wide ? 0.6 : 0.1)) return Fabric::host();
  Index few = random.between(1, 3);
  const Index many = random.chance(0.1) ? 1 : random.between(2, 5);
  if (random.chance(0.2)) few = 1;
  return random.chance(0.5) ? Fabric::mesh(few, many) : Fabric::mesh(many, few);
}

void choose_cuts(const Step& step, RandomPlan& plan, Random& random) {
  Choices& choices = plan.choices;
  if (random.chance(0.7)) choices.random_cuts = random.next() | 1;
  Mesh direction = random.chance(0.5) ? Mesh::rows : Mesh::columns;
  if (blocks(plan.fabric, direction) < 2) direction = other(direction);
  const Index most = std::min(blocks(plan.fabric, direction), batch_extent(step) / choices.micro_batches);
  if (random.chance(0.75) && most >= 2) choices.batch = {true, direction, random.between(2, most)};
  direction = other(direction);
  const std::vector<FactorClass> classes = feature_classes(step, analyse_factors(step, true));
  if (classes.empty() || !random.chance(0.75)) return;
  if (blocks(plan.fabric, direction) < 2 && !choices.batch.active) direction = other(direction);
  const FactorClass& of = random.pick(classes);
  const Index parts = std::min(blocks(plan.fabric, direction), of.extent / of.unit);
  if (parts < 2) return;
  choices.feature = {true, direction, random.between(2, parts)};
  choices.feature_value = of.value;
  choices.feature_dim = of.dim;
}

std::string shape_of(const Fabric& fabric) {
  if (fabric.shared_memory) return "host";
  const auto count = [](Index blocks, const char* many) { return blocks == 1 ? "1" : many; };
  return std::string("mesh ") + count(fabric.rows, "m") + "x" + count(fabric.columns, "n");
}

bool has_inner_axis(const Generated& made) {
  return std::any_of(made.inputs.begin(), made.inputs.end(), [](const InputSpec& input) {
    const AxisTags& axes = input.tensor.data()->values[input.tensor.value()].axes;
    return axes[0] < 0 && std::any_of(axes.begin(), axes.end(), [](int axis) { return axis >= 0; });
  });
}

// The kinds that this graph and plan are of.
void count_drawn(const Generated& made, const RandomPlan& plan, const Stages& stages, Counts::Kinds& drawn) {
  ++drawn[shape_of(plan.fabric)];
  ++drawn["threads " + std::to_string(plan.threads)];
  ++drawn["axes " + std::to_string(made.axes.size())];
  drawn["an input with an axis, none outermost"] += has_inner_axis(made) ? 1 : 0;
  const bool micro =
      std::any_of(stages.step.programs.begin(), stages.step.programs.end(),
                  [&](const Program& program) { return stages.communication.micro_batches_of(program) > 1; });
  drawn["micro-batches"] += micro ? 1 : 0;
  drawn["panels"] += stages.layout.has_panels() ? 1 : 0;
  drawn["panels turned off"] += plan.fabric.shared_memory && !plan.panels ? 1 : 0;
  drawn["micro-batches on a mesh"] += micro && !plan.fabric.shared_memory ? 1 : 0;
  const Choices& choices = stages.partition.choices;
  switch (plan.by) {
    case RandomPlan::By::choices: ++drawn["cut by choices"]; break;
    case RandomPlan::By::search: ++drawn["cut by the search"]; break;
    case RandomPlan::By::hints:
      ++drawn[choices.batch.active && choices.feature.active ? "hints batch and feature"
              : choices.batch.active                         ? "hint batch"
                                                             : "hint feature"];
      break;
  }
}

void count_cuts(const Partition& partition, Counts& counts) {
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
}

}  // namespace

std::string RandomPlan::text() const {
  std::string out = fabric.name + ", threads " + std::to_string(threads) + ", ";
  if (by == By::search) out += "searched, ";
  out += choices.text();
  if (choices.feature.active) {
    out += ", feature is dimension " + std::to_string(choices.feature_dim) + " of value " +
           std::to_string(choices.feature_value);
  }
  if (!panels) out += ", no panels";
  return out + ", random_cuts " + std::to_string(choices.random_cuts) + hints.text();
}

RandomPlan random_plan(const Generated& made, Random& random) {
  RandomPlan plan;
  plan.threads = random.between(1, 3);
  plan.choices.workers = random.between(1, 3);
  const Step step = simplify(derive_step(made.requests));
  const Index batch = batch_extent(step);
  if (batch > 0 && allows_micro_batches(step))
    plan.choices.micro_batches = random.chance(0.5) ? 1 : std::min(batch, random.between(2, 4));
  plan.panels = random.chance(0.85);
  plan.fabric = random_fabric(made, random);
  if (random.chance(0.4)) {
    plan.hints = random_hints(made, step, plan.fabric, plan.choices.micro_batches, random);
    plan.by = plan.hints.all.empty() ? RandomPlan::By::search : RandomPlan::By::hints;
  } else {
    choose_cuts(step, plan, random);
  }
  return plan;
}

Executable compile_plan(const Generated& made, const RandomPlan& plan) {
  const Options options{
      .micro_batches = plan.choices.micro_batches, .threads = plan.choices.workers, .panels = plan.panels};
  if (plan.by == RandomPlan::By::choices)
    return compile_with(made.requests, plan.fabric, options, plan.choices);
  give(plan.hints, made.graph);
  return compile(made.requests, plan.fabric, options);
}

void count_plan(const Generated& made, const RandomPlan& plan, const Executable& executable, Counts& counts) {
  const auto& stages = static_cast<const Stages&>(*executable.data()->plan);
  ++counts.plans;
  count_drawn(made, plan, stages, counts.drawn);
  count_cuts(stages.partition, counts);
  for (const ProgramCommunication& program : stages.communication.programs) {
    for (const Transfer& t : program.transfers) {
      // Within one arena a copy is no message.
      if (t.kind != TransferKind::copy) ++counts.collectives[std::string(name_of(t.kind))];
    }
  }
}

}  // namespace fuzz
