// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Nothing here is rolled, nor knows the rules: each action of each micro-batch by itself.
#include <wafer/compiler/pipeline.hpp>

#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr Index kNotYet = -1;
constexpr std::array<const char*, 4> kNames{"forward", "backward", "input_gradient", "weight_gradient"};

std::string text(const PipelineEvent& e) {
  return std::string(kNames[static_cast<std::size_t>(e.work)]) + " of micro-batch " +
         std::to_string(e.micro_batch) + " on part " + std::to_string(e.part);
}

bool has_backward(PipelineKind kind) { return kind != PipelineKind::forward_stream; }
bool is_split(PipelineKind kind) {
  return kind == PipelineKind::zb_h1 || kind == PipelineKind::zb_h2 || kind == PipelineKind::zb_v;
}

Index duration(const PipelineDurations& d, PipelineWork work) {
  switch (work) {
    case PipelineWork::forward: return d.forward;
    case PipelineWork::backward: return d.input_gradient + d.weight_gradient;
    case PipelineWork::input_gradient: return d.input_gradient;
    case PipelineWork::weight_gradient: break;
  }
  return d.weight_gradient;
}

// When each work of each micro-batch on each part was done.
class Board {
 public:
  Board(Index parts, Index micro_batches)
      : parts_(parts),
        m_(micro_batches),
        ends_(static_cast<std::size_t>(4 * parts * micro_batches), kNotYet) {}

  Index& end(PipelineWork work, Index part, Index micro_batch) {
    return ends_[static_cast<std::size_t>((static_cast<Index>(work) * parts_ + part) * m_ + micro_batch)];
  }
  /// kNotYet where something is missing.
  Index ready(const PipelineEvent& e) {
    switch (e.work) {
      case PipelineWork::forward:
        return e.part == 0 ? 0 : end(PipelineWork::forward, e.part - 1, e.micro_batch);
      case PipelineWork::weight_gradient: return end(PipelineWork::input_gradient, e.part, e.micro_batch);
      default: break;
    }
    const Index own = end(PipelineWork::forward, e.part, e.micro_batch);
    if (e.part == parts_ - 1 || own == kNotYet) return own;
    const Index above = end(e.work, e.part + 1, e.micro_batch);
    return above == kNotYet ? kNotYet : std::max(own, above);
  }

 private:
  Index parts_, m_;
  std::vector<Index> ends_;
};

Index checked_actions(const PipelineSchedule& s) {
  const PipelineRequest& r = s.request;
  r.check();
  const Index lanes = r.kind == PipelineKind::weight_stream ? 1 : r.stages, parts = r.parts();
  if (static_cast<Index>(s.lanes.size()) != lanes)
    throw InternalError("expected the orders of " + std::to_string(lanes) + " lanes, got " +
                        std::to_string(s.lanes.size()));
  const Index works = has_backward(r.kind) ? (is_split(r.kind) ? 3 : 2) : 1;
  Index all = 0;
  if (__builtin_mul_overflow(parts * works, r.micro_batches, &all) || all > PipelineSchedule::kMostUnrolled)
    throw UserError("pipeline " + std::string(name_of(r.kind)) + ": expected at most " +
                    std::to_string(PipelineSchedule::kMostUnrolled) + " actions to unroll, got " +
                    std::to_string(parts) + " parts of " + std::to_string(r.micro_batches) +
                    " micro-batches");
  return all;
}

// Adds the actions of a lane, in order, without times.
void add_actions(const PipelineSchedule& s, Index lane, Index most, std::vector<PipelineEvent>& actions) {
  const PipelineLane& order = s.lanes[static_cast<std::size_t>(lane)];
  std::vector<Index> next(static_cast<std::size_t>(s.request.parts()) / s.lanes.size() * 4);  // of each chunk
  const auto run = [&](const std::vector<PipelineLoop>& loops) {
    for (const PipelineLoop& loop : loops) {
      if (loop.body.empty()) continue;
      for (Index i = 0; i < loop.count; ++i) {
        for (const PipelineAction& a : loop.body) {
          PipelineEvent e{lane, s.part_of(lane, a.chunk), 0, a.work, 0, 0};
          if (static_cast<std::size_t>(a.work) >= kNames.size())
            throw InternalError("lane " + std::to_string(lane) + " has an action of no kind");
          if (e.part < 0 || e.part >= s.request.parts() || s.lane_of(e.part) != lane)
            throw InternalError("lane " + std::to_string(lane) + " has no chunk " + std::to_string(a.chunk));
          e.micro_batch = next[static_cast<std::size_t>(a.chunk) * 4 + static_cast<std::size_t>(a.work)]++;
          if (e.micro_batch >= s.request.micro_batches || static_cast<Index>(actions.size()) >= most)
            throw InternalError("lane " + std::to_string(lane) +
                                " goes beyond the last micro-batch: " + text(e));
          actions.push_back(e);
        }
      }
    }
  };
  run(order.fill);
  for (Index round = 0; round < order.rounds; ++round) {
    const std::size_t before = actions.size();
    run(order.steady);
    if (actions.size() == before) break;  // so are the other rounds
  }
  run(order.drain);
}

void check(bool right, const PipelineSchedule& s, Index lane, const char* what) {
  if (!right)
    throw InternalError("pipeline " + std::string(name_of(s.request.kind)) + ", lane " +
                        std::to_string(lane) + ": " + what + " is not what its actions give");
}

}  // namespace

std::vector<PipelineEvent> PipelineSchedule::unroll() const {
  const Index all = checked_actions(*this);
  std::vector<PipelineEvent> events;
  events.reserve(static_cast<std::size_t>(all));
  std::vector<std::size_t> next, last;  // of each lane
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    next.push_back(events.size());
    add_actions(*this, static_cast<Index>(l), all, events);
    last.push_back(events.size());
  }
  Board board(request.parts(), request.micro_batches);
  std::vector<Index> clock(lanes.size());
  bool moved = true;
  const auto go_on = [&](std::size_t l) {
    for (; next[l] < last[l]; ++next[l]) {
      PipelineEvent& e = events[next[l]];
      const Index ready = board.ready(e);
      if (ready == kNotYet) break;
      e.start = std::max(clock[l], ready);
      e.end = e.start + duration(request.durations_of(e.part), e.work);
      board.end(e.work, e.part, e.micro_batch) = clock[l] = e.end;
      moved = true;
    }
  };
  while (moved) {  // down the lanes with forward work, and up again with gradients
    moved = false;
    for (std::size_t l = 0; l < lanes.size(); ++l) go_on(l);
    for (std::size_t l = lanes.size(); l-- > 0;) go_on(l);
  }
  for (std::size_t l = 0; l < lanes.size(); ++l)
    if (next[l] < last[l])
      throw InternalError("lane " + std::to_string(l) + " waits for ever before " + text(events[next[l]]));
  return events;
}

void PipelineSchedule::verify() const {
  const Index all = checked_actions(*this);
  const std::vector<PipelineEvent> events = unroll();
  // None is twice or beyond the last (unroll), so the right number of the right kinds is all of them.
  if (static_cast<Index>(events.size()) != all) throw InternalError("actions of micro-batches are missing");
  auto e = events.begin();
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const auto lane = static_cast<Index>(l);
    const PipelineLane& said = lanes[l];
    check(e != events.end() && e->lane == lane && e->start == said.start, *this, lane, "its start");
    Index busy = 0, level = 0, most = 0, end = 0;
    for (; e != events.end() && e->lane == lane; ++e) {
      const bool fused = e->work == PipelineWork::backward;
      const bool gradient =
          fused || e->work == PipelineWork::input_gradient || e->work == PipelineWork::weight_gradient;
      if (gradient && (!has_backward(request.kind) || fused == is_split(request.kind)))
        throw InternalError("no such work in this kind of schedule: " + text(*e));
      busy += e->end - e->start;
      level += e->work == PipelineWork::forward ? 1 : 0;
      most = std::max(most, level);
      level -= fused || e->work == PipelineWork::weight_gradient || !has_backward(request.kind) ? 1 : 0;
      end = e->end;
    }
    check(end == said.end, *this, lane, "its end");
    check(busy == said.busy, *this, lane, "the time that it works");
    check(most == said.held, *this, lane, "the number of its activations");
  }
}

}  // namespace wafer::inline v0
