// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/report/pipeline.hpp>

#include "report/svg.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <array>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostBoxes = 20'000;
constexpr double kLeft = 70, kRight = 130, kTop = 62, kRow = 22, kBox = 18, kWidest = 1400, kWidestCycle = 22;
constexpr double kRoomForNumber = 7;  // pixels of one digit

struct Look {
  std::string_view name, colour;
};
constexpr std::array<Look, 4> kLooks{{{"forward", "#6b9bd1"},
                                      {"backward", "#5aa469"},
                                      {"input gradient", "#8fc97a"},
                                      {"weight gradient", "#e7b04f"}}};

std::string percent(double share) {
  const auto tenths = static_cast<long long>(share * 1000 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::vector<PipelineEvent> events_in(const PipelineSchedule& schedule, const GanttWindow& window) {
  std::vector<PipelineEvent> events = schedule.unroll();
  std::erase_if(events, [&](const PipelineEvent& e) {
    return e.end < window.from || e.start >= window.to || e.start == e.end;
  });
  if (events.size() > kMostBoxes)
    throw UserError("a Gantt chart of at most " + std::to_string(kMostBoxes) + " actions was expected, got " +
                    std::to_string(events.size()) + " between cycles " + std::to_string(window.from) +
                    " and " + std::to_string(window.to) + "; take a smaller window");
  return events;
}

/// Each later chunk of a lane paler, down to kPalest.
double strength(Index chunk, Index chunks) {
  constexpr double kPalest = 0.3;
  return 1 - (1 - kPalest) * static_cast<double>(chunk) / static_cast<double>(std::max<Index>(chunks - 1, 2));
}

/// Of each lane; part k is chunk k / lanes of its lane, whether the model goes down the lanes only or up
/// again.
Index chunks_of(const PipelineSchedule& schedule) {
  return schedule.request.parts() / std::max<Index>(1, static_cast<Index>(schedule.lanes.size()));
}

void draw_head(Svg& svg, const PipelineSchedule& schedule, const std::array<bool, kLooks.size()>& used) {
  const PipelineRequest& r = schedule.request;
  svg.text(kLeft, 20,
           std::string(name_of(r.kind)) + ": " + std::to_string(r.stages) + " stages, " +
               std::to_string(r.micro_batches) + " micro-batches; modelled bubble " +
               std::to_string(schedule.bubble()) + " of " + std::to_string(schedule.period()) + " cycles (" +
               percent(schedule.bubble_share()) + ")",
           {.size = 15});
  double x = kLeft;
  for (std::size_t k = 0; k < kLooks.size(); ++k) {
    const Look& look = kLooks[k];
    if (!used[k]) continue;
    svg.rectangle(x, 33, 12, 12, {.fill = look.colour});
    svg.text(x + 17, 43, look.name);
    x += 130;
  }
  const Index chunks = chunks_of(schedule);
  if (chunks > 1) svg.text(x, 43, "paler: later of " + std::to_string(chunks) + " chunks on a lane");
}

void draw_cycles(Svg& svg, const GanttWindow& window, double scale, double bottom) {
  const Index distance = mark_distance(window.to - window.from, 14);
  for (Index at = 0; at <= window.to - window.from; at += distance) {
    const double x = kLeft + static_cast<double>(at) * scale;
    svg.line(x, kTop - 4, x, bottom, {.stroke = "#dddddd"});
    svg.text(x, bottom + 14, std::to_string(window.from + at), {.size = 10, .anchor = Svg::Anchor::middle});
    if (distance > window.to - window.from - at) break;  // the next one may not be a number
  }
}

void draw_lane(Svg& svg, const PipelineSchedule& schedule, std::size_t l, double right) {
  const PipelineLane& lane = schedule.lanes[l];
  const double y = kTop + kRow * static_cast<double>(l);
  svg.rectangle(kLeft, y, right - kLeft, kBox, {.fill = "#f3f3f3"});
  const bool all = schedule.request.kind == PipelineKind::weight_stream;
  svg.text(kLeft - 8, y + 13, all ? "all cores" : "stage " + std::to_string(l), {.anchor = Svg::Anchor::end});
  svg.text(right + 8, y + 13, "idle " + std::to_string(lane.idle()) + ", holds " + std::to_string(lane.held),
           {.size = 10});
}

}  // namespace

std::string gantt_svg(const PipelineSchedule& schedule, GanttWindow window) {
  if (window.to == 0) window.to = std::max<Index>(1, schedule.cycles());
  if (window.from < 0 || window.to <= window.from)
    throw UserError("a Gantt chart: expected cycles from 0 on, the first before the last, got " +
                    std::to_string(window.from) + " to " + std::to_string(window.to));
  const std::vector<PipelineEvent> events = events_in(schedule, window);
  const auto extent = static_cast<double>(window.to - window.from);
  const double scale = std::min(kWidestCycle, kWidest / extent);
  const double right = kLeft + std::max(extent * scale, 500.0);
  const double bottom = kTop + kRow * static_cast<double>(schedule.lanes.size());
  Svg svg(right + kRight, bottom + 24);
  std::array<bool, kLooks.size()> used{};
  for (const PipelineEvent& e : events) used[static_cast<std::size_t>(e.work)] = true;
  draw_head(svg, schedule, used);
  for (std::size_t l = 0; l < schedule.lanes.size(); ++l) draw_lane(svg, schedule, l, right);
  draw_cycles(svg, window, scale, bottom);
  const Index chunks = chunks_of(schedule);
  for (const PipelineEvent& e : events) {
    const double from = static_cast<double>(std::max(e.start, window.from) - window.from) * scale;
    const double to = static_cast<double>(std::min(e.end, window.to) - window.from) * scale;
    const double y = kTop + kRow * static_cast<double>(e.lane);
    const Look& look = kLooks[static_cast<std::size_t>(e.work)];
    const Index chunk = e.part / static_cast<Index>(schedule.lanes.size());
    const std::string number = std::to_string(e.micro_batch);
    svg.rectangle(kLeft + from, y, to - from, kBox,
                  {.fill = look.colour, .stroke = "white", .width = 0.5, .opacity = strength(chunk, chunks)},
                  std::string(look.name) + " of micro-batch " + number + ", part " + std::to_string(e.part) +
                      ", chunk " + std::to_string(chunk) + ", cycles " + std::to_string(e.start) + " to " +
                      std::to_string(e.end));
    if (to - from > kRoomForNumber * static_cast<double>(number.size()) + 2)
      svg.text(kLeft + (from + to) / 2, y + 13, number, {.size = 10, .anchor = Svg::Anchor::middle});
  }
  return svg.document();
}

}  // namespace wafer::inline v0
