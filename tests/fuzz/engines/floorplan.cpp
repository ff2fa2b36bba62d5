// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/floorplan.hpp>
#include <wafer/error.hpp>
#include <wafer/report/floorplan.hpp>

#include <algorithm>
#include <cmath>

#include "engine.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kMostEffort = 2'000'000;
constexpr Index kMostSide = 200;  // of a spoilt mesh that is one all the same

FloorRequest draw(Random& random) {
  FloorRequest r;
  const Index most = random.pick(std::vector<Index>{1, 6, 20, 80});
  r.rows = random.between(1, most);
  r.columns = random.between(1, most);
  const Index kernels = random.below(random.pick(std::vector<Index>{2, 5, 12}));
  for (Index k = 0; k < kernels; ++k) {
    FloorKernel kernel;
    const Index side = random.chance(0.1) ? most : std::max<Index>(1, most / random.between(1, 4));
    for (Index s = random.between(1, 5); s > 0; --s)
      kernel.shapes.push_back({random.between(1, side), random.between(1, side),
                               random.chance(0.1) ? 0 : random.uniform(0, 1000), random.below(50)});
    kernel.may_turn = random.chance(0.7);
    r.kernels.push_back(kernel);
  }
  for (Index c = kernels > 0 ? random.below(2 * kernels) : 0; c > 0; --c)
    r.connections.push_back({static_cast<std::int32_t>(random.below(kernels)),
                             static_cast<std::int32_t>(random.below(kernels)), random.uniform(0, 3)});
  for (Index f = random.chance(0.4) ? random.below(4) : 0; f > 0; --f) {
    FloorRectangle fault{random.below(r.rows), random.below(r.columns), 1, 1};
    if (random.chance(0.3)) fault = {fault.row, 0, 1, r.columns};
    r.faulty.push_back(fault);
  }
  if (random.chance(0.2)) r.memory_limit = random.between(1, 60);
  if (random.chance(0.3)) r.length_weight = random.uniform(0, 2);
  if (random.chance(0.1)) r.time_weight = 0;
  r.effort = random.pick(std::vector<Index>{0, 1000, 100'000, 100'000, kMostEffort});
  return r;
}

void spoil_mesh(Random& random, FloorRequest& r) {
  Index& side = random.chance(0.5) ? r.rows : r.columns;
  const Index before = side;
  side = hostile(random);
  if (side > kMostSide && side <= 4096) side = before;
}

void spoil(Random& random, FloorRequest& r) {
  const auto any = [&](auto& list) -> auto& {
    return list[static_cast<std::size_t>(random.below(static_cast<Index>(list.size())))];
  };
  switch (random.below(8)) {
    case 0: spoil_mesh(random, r); break;
    case 1:
      if (!r.kernels.empty()) any(r.kernels).shapes.clear();
      break;
    case 2:
      if (!r.kernels.empty()) {
        KernelShape& shape = any(any(r.kernels).shapes);
        (random.chance(0.4)   ? shape.height
         : random.chance(0.5) ? shape.width
                              : shape.memory) = hostile(random);
      }
      break;
    case 3:
      if (!r.kernels.empty()) any(any(r.kernels).shapes).time = hostile_real(random);
      break;
    case 4:
      r.connections.push_back({static_cast<std::int32_t>(hostile(random)),
                               static_cast<std::int32_t>(hostile(random)), hostile_real(random)});
      break;
    case 5:
      r.faulty.push_back({random.below(9), random.below(9), random.below(9), random.below(9)});
      (random.chance(0.5) ? r.faulty.back().row : r.faulty.back().width) = hostile(random);
      break;
    case 6: r.memory_limit = hostile(random); break;
    default: (random.chance(0.5) ? r.time_weight : r.length_weight) = hostile_real(random);
  }
}

void tamper(Random& random, FloorPlan& plan) {
  if (plan.kernels.empty() || random.chance(0.2)) {
    double* const figures[] = {&plan.time, &plan.length, &plan.score, &plan.time_bound, &plan.utilisation};
    *figures[random.below(5)] = hostile_real(random);
    return;
  }
  FloorPlan::Kernel& kernel =
      plan.kernels[static_cast<std::size_t>(random.below(static_cast<Index>(plan.kernels.size())))];
  switch (random.below(5)) {
    case 0: kernel.shape = static_cast<std::int32_t>(hostile(random)); break;
    case 1: kernel.turned = !kernel.turned; break;
    case 2: (random.chance(0.5) ? kernel.place.row : kernel.place.column) = hostile(random); break;
    case 3: (random.chance(0.5) ? kernel.place.height : kernel.place.width) = hostile(random); break;
    default: plan.kernels.pop_back();
  }
}

std::string text_of(const FloorRequest& r) {
  std::string text = std::to_string(r.rows) + " x " + std::to_string(r.columns) + " cores, effort " +
                     std::to_string(r.effort) + ", memory " + std::to_string(r.memory_limit) + ", weights " +
                     std::to_string(r.time_weight) + " " + std::to_string(r.length_weight) + ", " +
                     std::to_string(r.connections.size()) + " connections, " +
                     std::to_string(r.faulty.size()) + " faults, kernels";
  for (const FloorKernel& kernel : r.kernels) {
    text += kernel.may_turn ? " {" : " {fixed";
    for (const KernelShape& shape : kernel.shapes)
      text += " " + std::to_string(shape.height) + "x" + std::to_string(shape.width) + ":" +
              std::to_string(shape.time) + "/" + std::to_string(shape.memory);
    text += " }";
  }
  return text;
}

// Side by side, in one row of kernels.
bool surely_fits(const FloorRequest& r) {
  if (!r.faulty.empty() || r.memory_limit > 0) return false;
  Index width = 0;
  for (const FloorKernel& kernel : r.kernels) {
    Index least = r.columns + 1;
    for (const KernelShape& shape : kernel.shapes)
      if (shape.height <= r.rows) least = std::min(least, shape.width);
    width += least;
  }
  return width <= r.columns;
}

std::string check_plan(const FloorRequest& r, const FloorPlan& plan) {
  const double score = r.time_weight * plan.time + r.length_weight * plan.length;
  if (!(std::abs(score - plan.score) <= 1e-9 * std::max(1.0, score)))
    return "a score of " + std::to_string(plan.score) + ", expected " + std::to_string(score);
  if (plan.time_bound > plan.time * (1 + 1e-12)) return "faster than its bound";
  if (plan_floor(r).kernels != plan.kernels) return "another plan the second time";
  return "";
}

}  // namespace

void run_floorplan(Random& random, Result& result) {
  FloorRequest request = draw(random);
  const bool spoilt = random.chance(0.3);
  if (spoilt) spoil(random, request);
  result.tell(text_of(request));
  FloorPlan plan;
  try {
    plan = plan_floor(request);
  } catch (const CompileError& error) {
    if (!spoilt && surely_fits(request)) result.fault = std::string("refused: ") + error.what();
    return;
  } catch (const UserError& error) {
    if (!spoilt) result.fault = std::string("refused: ") + error.what();
    return;
  }
  result.accepted = true;
  plan.verify(request);
  result.fault = check_plan(request, plan);
  if (random.chance(0.2) && floorplan_svg(request, plan).empty()) result.fault = "nothing to show";
  if (random.chance(0.7))
    tamper(random, plan);
  else
    spoil(random, request);
  try {
    plan.verify(request);
    floorplan_svg(request, plan);
  } catch (const Error&) {
  }
}

}  // namespace fuzz
