// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/pipeline.hpp>
#include <wafer/error.hpp>
#include <wafer/report/pipeline.hpp>

#include <utility>

#include "engine.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kKinds = 8;
constexpr Index kMostActions = 20'000;  // that a case verifies

std::string text_of(const PipelineRequest& r) {
  std::string text = "kind " + std::to_string(static_cast<int>(r.kind)) + ", " + std::to_string(r.stages) +
                     " stages, " + std::to_string(r.micro_batches) + " micro-batches, " +
                     std::to_string(r.chunks) + " chunks, durations";
  for (std::size_t k = 0; k < r.durations.size() && k < 12; ++k) {
    const PipelineDurations& d = r.durations[k];
    text += " (" + std::to_string(d.forward) + " " + std::to_string(d.input_gradient) + " " +
            std::to_string(d.weight_gradient) + ")";
  }
  return text;
}

PipelineDurations durations(Random& random, Index most) {
  return {random.between(0, most), random.between(0, most), random.between(0, most)};
}

PipelineRequest draw(Random& random) {
  PipelineRequest r;
  r.kind = static_cast<PipelineKind>(random.below(kKinds));
  r.stages = random.between(1, random.chance(0.1) ? 60 : 9);
  r.chunks = random.between(1, 4);
  // Few, many, or so many that only a rolled schedule can hold them.
  r.micro_batches = random.between(1, random.pick(std::vector<Index>{1, 6, 30, 300, 5000, Index{1} << 32}));
  const Index most = random.pick(std::vector<Index>{0, 1, 3, 100, 1'000'000});
  const Index given = random.below(3) == 0 ? 0 : random.chance(0.4) ? 1 : r.parts();
  for (Index k = 0; k < given; ++k) r.durations.push_back(durations(random, most));
  return r;
}

// One field of a good request goes wrong, or may.
void spoil(Random& random, PipelineRequest& r) {
  switch (random.below(6)) {
    case 0: r.kind = static_cast<PipelineKind>(random.below(256)); break;
    case 1: r.stages = hostile(random); break;
    case 2: r.micro_batches = hostile(random); break;
    case 3: r.chunks = hostile(random); break;
    case 4: r.durations.resize(static_cast<std::size_t>(random.below(20))); break;
    default:
      if (r.durations.empty()) r.durations.emplace_back();
      PipelineDurations& d =
          r.durations[static_cast<std::size_t>(random.below(static_cast<Index>(r.durations.size())))];
      (random.chance(0.5)   ? d.forward
       : random.chance(0.5) ? d.input_gradient
                            : d.weight_gradient) = hostile(random);
  }
}

std::vector<PipelineLoop>& some_loops(Random& random, PipelineLane& lane) {
  return random.chance(0.3) ? lane.fill : random.chance(0.5) ? lane.steady : lane.drain;
}

// What verify() may be given: anything at all.
void tamper(Random& random, PipelineSchedule& s) {
  PipelineLane& lane = s.lanes[static_cast<std::size_t>(random.below(static_cast<Index>(s.lanes.size())))];
  std::vector<PipelineLoop>& loops = some_loops(random, lane);
  PipelineLoop* loop = loops.empty()
                           ? nullptr
                           : &loops[static_cast<std::size_t>(random.below(static_cast<Index>(loops.size())))];
  switch (random.below(9)) {
    case 0: lane.rounds = random.chance(0.5) ? lane.rounds + 1 : hostile(random); break;
    case 1:
      if (loop != nullptr) loop->count = random.chance(0.5) ? loop->count - 1 : hostile(random);
      break;
    case 2:
      if (loop != nullptr) loop->body.clear();
      break;
    case 3:
      if (loop != nullptr) loop->body.push_back(loop->body.empty() ? PipelineAction{} : loop->body[0]);
      break;
    case 4:
      if (loop != nullptr && !loop->body.empty())
        loop->body[0] = {static_cast<PipelineWork>(random.below(random.chance(0.8) ? 4 : 256)),
                         static_cast<std::int32_t>(hostile(random))};
      break;
    case 5: loops.clear(); break;
    case 6: s.lanes.pop_back(); break;
    case 7: spoil(random, s.request); break;
    default: std::swap(lane.fill, lane.drain);
  }
}

bool small(const PipelineRequest& r) {
  return r.micro_batches <= kMostActions && r.parts() * r.micro_batches * 3 <= kMostActions;
}

}  // namespace

void run_pipeline(Random& random, Result& result) {
  PipelineRequest request = draw(random);
  const bool spoilt = random.chance(0.3);
  if (spoilt) spoil(random, request);
  result.tell(text_of(request));
  PipelineSchedule schedule;
  try {
    schedule = plan_pipeline(request);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    if (!spoilt) result.fault = std::string("refused: ") + error.what();
    return;
  }
  result.accepted = true;
  if (!small(request)) return;
  schedule.verify();
  if (schedule.bubble() < 0 || !(schedule.bubble_share() >= 0 && schedule.bubble_share() <= 1))
    result.fault = "a bubble of " + std::to_string(schedule.bubble());
  if (schedule.dump().empty() || gantt_svg(schedule).empty()) result.fault = "nothing to show";
  const std::string before = schedule.dump();
  tamper(random, schedule);
  try {
    schedule.dump();
    schedule.verify();
  } catch (const Error&) {
  }
}

}  // namespace fuzz
