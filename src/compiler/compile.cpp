// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages.hpp"
#include "kernels/table.hpp"

#include <wafer/compiler/compile.hpp>
#include <wafer/compiler/emit.hpp>
#include <wafer/compiler/host_time.hpp>
#include <wafer/compiler/search.hpp>
#include <wafer/compiler/simplify.hpp>
#include <wafer/core/cpus.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace wafer::inline v0 {

namespace {

void check_options(const Fabric& fabric, const Options& options) {
  fabric.check();
  if (options.micro_batches < 0) {
    throw CompileError("micro_batches: expected at least 1, or 0 to choose, got " +
                       std::to_string(options.micro_batches));
  }
  if (options.sram_limit < 0 || options.dram_limit < 0) {
    throw CompileError("sram_limit, dram_limit: expected bytes >= 0, got " +
                       std::to_string(options.sram_limit) + " and " + std::to_string(options.dram_limit));
  }
  if (options.sram_limit > 0 && fabric.shared_memory) {
    throw CompileError("sram_limit: expected a mesh, got a host, which computes in DRAM (see dram_limit)");
  }
  if (options.reproducible && !*options.reproducible && !fabric.shared_memory) {
    throw CompileError("reproducible: expected true on a mesh, got false, which is not there yet");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw CompileError("threads: expected 1 to " + std::to_string(kMaxThreads) +
                       ", or 0 for the CPUs at hand, got " + std::to_string(options.threads));
  }
}

KernelTarget chosen_target(KernelTarget hint) {
  if (hint == KernelTarget::automatic) return kernels::best_target();
  if (!kernels::supports(hint)) {
    throw CompileError("kernel_target: expected one that this CPU supports, got " +
                       std::string(name_of(hint)));
  }
  return hint;
}

MemoryLimits limits_of(const Fabric& fabric, const Options& options) {
  const auto smaller = [](Index a, Index b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); };
  return {smaller(fabric.sram, options.sram_limit), smaller(fabric.dram, options.dram_limit)};
}

// The batch in equal parts by request; a program that forbids parts says who it is.
void check_micro_batches(const Step& step, Index micro_batches) {
  if (micro_batches <= 1) return;
  for (const Program& program : step.programs) {
    if (program.batch_axis < 0) continue;
    const Axis& axis = step.graph->axes[static_cast<std::size_t>(program.batch_axis)];
    if (program.whole_batch != kNone && !program.assignments.empty()) {
      throw CompileError("micro_batches: expected ops that take the batch in parts, got " +
                         step.graph->where(program.whole_batch) + " in step '" + program.name +
                         "', which needs axis '" + axis.name + "' in one piece");
    }
    if (micro_batches > axis.extent) {
      throw CompileError("micro_batches: expected at most " + std::to_string(axis.extent) + " for axis '" +
                         axis.name + "', got " + std::to_string(micro_batches));
    }
  }
}

double total(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

// Everything that follows from choices, up to the order of actions.
void plan(Stages& s, const Fabric& fabric, const Choices& choices) {
  s.partition = partition_step(s.step, s.factors, fabric, choices);
  s.placement = place_group(s.partition, fabric);
  s.communication = communicate(s.step, s.factors, s.partition, fabric);
  s.seconds = predicted_seconds(s.step, s.partition, s.communication, fabric);
}

// And where everything lies; without panels where those take more than there is.
void plan_with_memory(Stages& s, const Fabric& fabric, const Choices& choices, const MemoryLimits& limits,
                      bool panels) {
  plan(s, fabric, choices);
  s.fusion = fuse_tails(s.step, s.factors, s.partition, s.communication, fabric);
  s.schedule = schedule_step(s.step, s.communication, s.fusion);
  const auto place = [&](bool in_panels) {
    s.layout = choose_layout(s.step, s.factors, s.communication, s.fusion, fabric, in_panels);
    s.memory = plan_memory(s.step, s.partition, s.communication, s.schedule, s.layout);
  };
  place(panels);
  if (s.layout.has_panels() && !s.memory.fits(limits)) place(false);
}

// Tiles for some workers, and the time that a host takes with them.
void tile_for(Stages& s, const Fabric& fabric, Index workers, KernelTarget target) {
  s.partition.choices.workers = workers;
  s.tiling = tile_step(s.step, s.factors, s.partition, s.communication, s.fusion, s.layout, s.memory, fabric);
  if (!fabric.shared_memory) return;
  s.seconds = host_seconds(s.step, s.factors, s.partition, s.communication, s.schedule, s.tiling, s.memory,
                           fabric, target);
}

Executable finish(std::shared_ptr<Stages> s, const Fabric& fabric, const Options& options) {
  const KernelTarget target = chosen_target(options.kernel_target);
  const Index workers = s->partition.choices.workers;
  tile_for(*s, fabric, workers, target);
  if (fabric.shared_memory && workers > 1) {  // small steps are faster on one
    const double together = total(s->seconds);
    tile_for(*s, fabric, 1, target);
    if (together < total(s->seconds)) tile_for(*s, fabric, workers, target);
  }
  s->verify(fabric);
  auto data = emit(s->step, s->factors, s->partition, s->tiling, s->communication, s->schedule, s->layout,
                   s->memory, fabric, target);
  for (std::size_t i = 0; i < s->seconds.size(); ++i) data->programs[i].predicted_seconds = s->seconds[i];
  s->scratch_bytes = data->worker_bytes();
  data->plan = std::move(s);
  return Executable(std::move(data));
}

// The fastest first, by the cost model.
std::vector<Choices> by_time(Stages& s, const Fabric& fabric, std::vector<Choices> proposed) {
  if (proposed.size() < 2) return proposed;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t c = 0; c < proposed.size(); ++c) {
    plan(s, fabric, proposed[c]);
    order.emplace_back(total(s.seconds), c);
  }
  std::sort(order.begin(), order.end());
  std::vector<Choices> out;
  for (const auto& [seconds, c] : order) out.push_back(proposed[c]);
  return out;
}

// Plans whose times differ by less of a step are alike to the model of time.
constexpr double kAlike = 0.01;

// On a host, plans as many micro-batches as make the step fastest by its model of time: parts of a tall batch
// stay in its caches from one op to the next. The plan for one is there already. Numbers of parts double
// until the step takes longer, since weights that each part walks again take what is gained; of those alike,
// the fewest parts are chosen.
void choose_micro_batches(Stages& s, const Fabric& fabric, const Choices& whole, const MemoryLimits& limits,
                          const Options& options) {
  const KernelTarget target = chosen_target(options.kernel_target);
  const auto time_of = [&](const Choices& choices) {
    tile_for(s, fabric, choices.workers, target);
    return total(s.seconds);
  };
  if (total(far_seconds(s.step, s.factors, s.communication, s.schedule, s.memory, fabric)) == 0) return;
  std::vector<std::pair<Choices, double>> plans{{whole, time_of(whole)}};
  double least = plans.front().second;
  for (const Index micro_batches : further_micro_batches(s.step)) {
    Choices parts = whole;
    parts.micro_batches = micro_batches;
    plan_with_memory(s, fabric, parts, limits, options.panels);
    const double seconds = time_of(parts);
    if (!s.memory.fits(limits) || seconds > (1 + kAlike) * least) break;
    plans.emplace_back(parts, seconds);
    least = std::min(least, seconds);
  }
  const auto chosen = std::find_if(plans.begin(), plans.end(),
                                   [&](const auto& plan) { return plan.second <= (1 + kAlike) * least; });
  if (s.partition.choices.micro_batches != chosen->first.micro_batches)
    plan_with_memory(s, fabric, chosen->first, limits, options.panels);
}

// `closest` is what comes next to the limits, of some plans.
[[noreturn]] void refuse(Stages& s, const Fabric& fabric, const MemoryLimits& limits, const Choices& closest,
                         std::size_t plans, bool panels) {
  plan_with_memory(s, fabric, closest, limits, panels);
  throw CompileError("memory of the " +
                     (plans == 1 ? "only plan" : "closest of " + std::to_string(plans) + " plans") + " (" +
                     closest.text() +
                     "): " + s.memory.shortage(s.step, s.partition, s.communication, s.schedule, limits));
}

// Up to what does not depend on choices.
std::shared_ptr<Stages> start(std::span<const NamedRequest> requests, const Fabric& fabric,
                              const Options& options) {
  check_options(fabric, options);
  auto s = std::make_shared<Stages>();
  s->fabric = fabric;
  s->step = simplify(derive_step(requests));
  s->step.verify();
  check_micro_batches(s->step, options.micro_batches);
  s->factors = analyse_factors(s->step, fabric.blocks() > 1);
  return s;
}

}  // namespace

Executable compile(std::span<const NamedRequest> requests, const Fabric& fabric, const Options& options) {
  std::shared_ptr<Stages> s = start(requests, fabric, options);
  const MemoryLimits limits = limits_of(fabric, options);
  const Index workers = options.threads > 0 ? options.threads : available_cpus();
  const auto proposed = [&](Index micro_batches) {
    return candidates(s->step, s->factors, fabric, micro_batches, workers);
  };
  std::vector<Choices> next = by_time(*s, fabric, proposed(std::max<Index>(1, options.micro_batches)));
  Choices closest;
  double least = 0;
  std::size_t tried = 0;
  const auto fits = [&](const Choices& choices) {
    plan_with_memory(*s, fabric, choices, limits, options.panels);
    const double over = s->memory.over(limits);
    if (tried++ == 0 || over < least) {
      closest = choices;
      least = over;
    }
    return s->memory.fits(limits);
  };
  if (fits(next.front())) {
    if (fabric.shared_memory && options.micro_batches == 0)
      choose_micro_batches(*s, fabric, next.front(), limits, options);
    return finish(std::move(s), fabric, options);
  }
  next.erase(next.begin());
  if (options.micro_batches == 0) {  // one does not fit, and more need less memory
    for (const Index micro_batches : further_micro_batches(s->step)) {
      const std::vector<Choices> more = proposed(micro_batches);
      next.insert(next.end(), more.begin(), more.end());
    }
    next = by_time(*s, fabric, std::move(next));
  }
  for (const Choices& choices : next) {
    if (fits(choices)) return finish(std::move(s), fabric, options);
  }
  refuse(*s, fabric, limits, closest, tried, options.panels);
}

Executable compile_with(std::span<const NamedRequest> requests, const Fabric& fabric, const Options& options,
                        const Choices& choices) {
  std::shared_ptr<Stages> s = start(requests, fabric, options);
  check_micro_batches(s->step, choices.micro_batches);
  const MemoryLimits limits = limits_of(fabric, options);
  plan_with_memory(*s, fabric, choices, limits, options.panels);
  if (!s->memory.fits(limits)) refuse(*s, fabric, limits, choices, 1, options.panels);
  return finish(std::move(s), fabric, options);
}

}  // namespace wafer::inline v0
