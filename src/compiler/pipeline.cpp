// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/pipeline.hpp>

#include "compiler/pipeline_clock.hpp"
#include "compiler/pipeline_rules.hpp"

#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <array>

namespace wafer::inline v0 {

namespace {

constexpr Index kMostMicroBatches = Index{1} << 40;

[[noreturn]] void refuse(const PipelineRequest& request, const std::string& what) {
  throw UserError("pipeline " + std::string(name_of(request.kind)) + ": " + what);
}

void check_count(const PipelineRequest& request, const char* what, Index count, Index most) {
  if (count < 1 || count > most)
    refuse(request, std::string("expected 1 to ") + std::to_string(most) + " " + what + ", got " +
                        std::to_string(count));
}

void check_durations(const PipelineRequest& request) {
  const auto given = static_cast<Index>(request.durations.size());
  if (given > 1 && given != request.parts())
    refuse(request, "expected durations of all parts or of each of " + std::to_string(request.parts()) +
                        ", got " + std::to_string(given));
  Index total = 0;
  for (Index part = 0; part < request.parts(); ++part) {
    const PipelineDurations& d = request.durations_of(part);
    const std::array<std::pair<const char*, Index>, 3> named{{{"forward", d.forward},
                                                              {"input_gradient", d.input_gradient},
                                                              {"weight_gradient", d.weight_gradient}}};
    for (const auto& [name, duration] : named) {
      if (duration < 0)
        refuse(request, "part " + std::to_string(part) + ": expected a duration of at least 0 for " + name +
                            ", got " + std::to_string(duration));
      Index all = 0;
      if (__builtin_mul_overflow(duration, request.micro_batches, &all) ||
          __builtin_add_overflow(total, all, &total))
        refuse(request, "part " + std::to_string(part) + ", " + name + " of " + std::to_string(duration) +
                            ": the durations of all actions together exceed 2^63 - 1");
    }
  }
}

// Cycles of all work on one lane.
Index busy(const PipelineSchedule& schedule, Index lane) {
  const PipelineShape shape = shape_of(schedule.request);
  Index once = 0;
  for (Index chunk = 0; chunk < shape.chunks; ++chunk) {
    const PipelineDurations& d = schedule.request.durations_of(schedule.part_of(lane, chunk));
    once += d.forward + (shape.backward ? d.input_gradient + d.weight_gradient : 0);
  }
  return once * schedule.request.micro_batches;
}

// The level of what is held, over loops: in each, it is highest in the first iteration or the last.
struct Level {
  Index now = 0, most = 0;

  void pass(const PipelineLoop& loop) {
    const Index start = now;
    once(loop);
    now = start + (now - start) * (loop.count - 1);
    once(loop);
  }
  void pass(const std::vector<PipelineLoop>& loops) {
    for (const PipelineLoop& loop : loops) pass(loop);
  }

 private:
  void once(const PipelineLoop& loop) {
    for (const PipelineAction& a : loop.body) {
      now += a.work == PipelineWork::forward ? 1 : 0;
      most = std::max(most, now);
      now -= a.work == PipelineWork::backward || a.work == PipelineWork::weight_gradient ? 1 : 0;
    }
  }
};

Index held(const PipelineLane& lane, bool backward) {
  if (!backward) return 1;  // handed on at once
  Level level;
  level.pass(lane.fill);
  if (lane.rounds > 0) {
    const Index start = level.now;
    level.pass(lane.steady);
    level.now = start + (level.now - start) * (lane.rounds - 1);
    level.pass(lane.steady);
  }
  level.pass(lane.drain);
  return level.most;
}

std::string text(const PipelineLoop& loop, bool chunks) {
  constexpr std::string_view letters = "FBIW";
  std::string body;
  for (const PipelineAction& a : loop.body) {
    const auto work = static_cast<std::size_t>(a.work);
    body += body.empty() ? "" : " ";
    body += work < letters.size() ? letters[work] : '?';
    if (chunks) body += std::to_string(a.chunk);
  }
  return std::to_string(loop.count) + " (" + body + ")";
}

std::string text(const std::vector<PipelineLoop>& loops, bool chunks) {
  std::string all;
  for (const PipelineLoop& loop : loops) all += (all.empty() ? "" : ", ") + text(loop, chunks);
  return all.empty() ? "nothing" : all;
}

}  // namespace

std::string_view name_of(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::gpipe: return "gpipe";
    case PipelineKind::one_f_one_b: return "1f1b";
    case PipelineKind::interleaved: return "interleaved";
    case PipelineKind::zb_h1: return "zb_h1";
    case PipelineKind::zb_h2: return "zb_h2";
    case PipelineKind::zb_v: return "zb_v";
    case PipelineKind::forward_stream: return "forward_stream";
    case PipelineKind::weight_stream: return "weight_stream";
  }
  return "";
}

Index PipelineRequest::parts() const {
  const PipelineShape shape = shape_of(*this);
  return checked_mul(shape.lanes, shape.chunks);
}

const PipelineDurations& PipelineRequest::durations_of(Index part) const {
  static constexpr PipelineDurations ones;
  if (durations.empty()) return ones;
  return durations[durations.size() == 1 ? 0 : static_cast<std::size_t>(part)];
}

void PipelineRequest::check() const {
  if (name_of(kind).empty()) refuse(*this, "no such kind of schedule");
  check_count(*this, "stages", stages, kMostPipelineParts);
  check_count(*this, "micro-batches", micro_batches, kMostMicroBatches);
  if (kind == PipelineKind::interleaved) check_count(*this, "chunks", chunks, kMostPipelineParts);
  check_count(*this, "parts (stages times chunks)", parts(), kMostPipelineParts);
  check_durations(*this);
}

Index PipelineSchedule::lane_of(Index part) const {
  const PipelineShape shape = shape_of(request);
  return shape.folded && part >= shape.lanes ? 2 * shape.lanes - 1 - part : part % shape.lanes;
}

Index PipelineSchedule::part_of(Index lane, Index chunk) const {
  const PipelineShape shape = shape_of(request);
  return shape.folded && chunk == 1 ? 2 * shape.lanes - 1 - lane : chunk * shape.lanes + lane;
}

Index PipelineSchedule::cycles() const {
  Index last = 0;
  for (const PipelineLane& lane : lanes) last = std::max(last, lane.end);
  return last;
}

Index PipelineSchedule::period() const {
  Index longest = 0;
  for (const PipelineLane& lane : lanes) longest = std::max(longest, lane.end - lane.start);
  return longest;
}

Index PipelineSchedule::bubble() const {
  Index busiest = 0;
  for (const PipelineLane& lane : lanes) busiest = std::max(busiest, lane.busy);
  return period() - busiest;
}

double PipelineSchedule::bubble_share() const {
  return period() == 0 ? 0 : static_cast<double>(bubble()) / static_cast<double>(period());
}

std::string PipelineSchedule::dump() const {
  const bool chunks = shape_of(request).chunks > 1;
  std::string all = "pipeline " + std::string(name_of(request.kind)) + ": " + std::to_string(request.stages) +
                    " stages, " + std::to_string(request.micro_batches) + " micro-batches, " +
                    std::to_string(cycles()) + " cycles, period " + std::to_string(period()) + ", bubble " +
                    std::to_string(bubble()) + "\n";
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const PipelineLane& lane = lanes[l];
    all += "lane " + std::to_string(l) + ": fill " + text(lane.fill, chunks) + "; steady " +
           std::to_string(lane.rounds) + " x [" + text(lane.steady, chunks) + "]; drain " +
           text(lane.drain, chunks) + "; from " + std::to_string(lane.start) + " to " +
           std::to_string(lane.end) + ", idle " + std::to_string(lane.idle()) + ", holds " +
           std::to_string(lane.held) + "\n";
  }
  return all;
}

PipelineSchedule plan_pipeline(const PipelineRequest& request) {
  request.check();
  const PipelineShape shape = shape_of(request);
  PipelineSchedule schedule{request, {}};
  schedule.lanes.reserve(static_cast<std::size_t>(shape.lanes));
  for (Index lane = 0; lane < shape.lanes; ++lane) {
    schedule.lanes.push_back(order_of(request, lane));
    schedule.lanes.back().held = held(schedule.lanes.back(), shape.backward);
    schedule.lanes.back().busy = busy(schedule, lane);
  }
  time_lanes(schedule);
  return schedule;
}

}  // namespace wafer::inline v0
