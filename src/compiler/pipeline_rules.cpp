// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline_rules.hpp"

#include <algorithm>
#include <iterator>

namespace wafer::inline v0 {

namespace {

using Body = std::vector<PipelineAction>;
using Loops = std::vector<PipelineLoop>;

PipelineAction forward(Index chunk = 0) { return {PipelineWork::forward, static_cast<std::int32_t>(chunk)}; }
PipelineAction backward(Index chunk = 0) {
  return {PipelineWork::backward, static_cast<std::int32_t>(chunk)};
}
PipelineAction input_gradient(Index chunk = 0) {
  return {PipelineWork::input_gradient, static_cast<std::int32_t>(chunk)};
}
PipelineAction weight_gradient(Index chunk = 0) {
  return {PipelineWork::weight_gradient, static_cast<std::int32_t>(chunk)};
}

void add(Loops& loops, Index count, Body body) {
  if (count <= 0 || body.empty()) return;
  if (!loops.empty() && loops.back().body == body)
    loops.back().count += count;
  else
    loops.push_back({count, std::move(body)});
}

// --- Rules. Each knows the order for `m` micro-batches that are many enough for it; what is too much is cut
// off afterwards: the order for few is that for many without the others. ---

// `ahead` forward actions before the first backward one, and weight gradients `late` micro-batches behind.
PipelineLane in_turn(Index m, Index ahead, Index late, bool split) {
  PipelineLane lane;
  add(lane.fill, ahead, {forward()});
  if (!split) {
    lane.rounds = m - ahead;
    lane.steady = {{1, {backward(), forward()}}};
    add(lane.drain, ahead, {backward()});
    return lane;
  }
  add(lane.fill, late, {input_gradient(), forward()});
  lane.rounds = m - ahead - late;
  lane.steady = {{1, {input_gradient(), weight_gradient(), forward()}}};
  add(lane.drain, ahead, {input_gradient(), weight_gradient()});
  add(lane.drain, late, {weight_gradient()});
  return lane;
}

// Groups of `p` micro-batches go through all chunks, one group after the other; `k` counts the forward
// actions of a lane, or the backward ones.
class Interleaving {
 public:
  Interleaving(Index p, Index chunks) : p_(p), chunks_(chunks) {}

  PipelineLane lane(Index m, Index ahead) const {
    PipelineLane lane;
    const Index round = p_ * chunks_, all = m * chunks_;  // p divides m
    forwards(lane.fill, 0, ahead);
    pairs(lane.steady, ahead, 0, round);
    lane.rounds = (all - ahead) / round;
    pairs(lane.drain, ahead, lane.rounds * round, all - ahead);
    backwards(lane.drain, all - ahead, all);
    return lane;
  }

 private:
  Index chunk(Index k) const { return k / p_ % chunks_; }
  Index next_chunk(Index k) const { return k + p_ - k % p_; }
  PipelineAction forward_of(Index k) const { return forward(chunk(k)); }
  PipelineAction backward_of(Index k) const { return backward(chunks_ - 1 - chunk(k)); }

  void forwards(Loops& loops, Index k, Index end) const {
    for (Index next; k < end; k = next) {
      next = std::min(end, next_chunk(k));
      add(loops, next - k, {forward_of(k)});
    }
  }
  void backwards(Loops& loops, Index k, Index end) const {
    for (Index next; k < end; k = next) {
      next = std::min(end, next_chunk(k));
      add(loops, next - k, {backward_of(k)});
    }
  }
  // The forward action is `ahead` of the backward one.
  void pairs(Loops& loops, Index ahead, Index k, Index end) const {
    for (Index next; k < end; k = next) {
      next = std::min({end, next_chunk(k), next_chunk(k + ahead) - ahead});
      add(loops, next - k, {forward_of(k + ahead), backward_of(k)});
    }
  }

  Index p_, chunks_;
};

// Chunk 0 on the way down, chunk 1 on the way up: the last lane turns, so it starts its second chunk at once;
// the first one has most of its forward work ahead.
PipelineLane folded(Index m, Index p, Index lane_index) {
  const Index above = lane_index, below = p - lane_index;  // lanes; itself is among those below
  PipelineLane lane;
  add(lane.fill, 2 * below - 1, {forward(0)});
  add(lane.fill, above, {forward(1), forward(0)});
  add(lane.fill, below, {forward(1), input_gradient(1), weight_gradient(1)});
  lane.rounds = m - p;
  lane.steady = {{1,
                  {forward(0), input_gradient(0), weight_gradient(0), forward(1), input_gradient(1),
                   weight_gradient(1)}}};
  add(lane.drain, above, {input_gradient(0), input_gradient(1)});
  add(lane.drain, below, {input_gradient(0), weight_gradient(0)});
  add(lane.drain, above, {weight_gradient(1)});
  add(lane.drain, above, {weight_gradient(0)});
  return lane;
}

PipelineLane one_after_the_other(Index m, Index parts) {
  PipelineLane lane;
  for (Index part = 0; part < parts; ++part) add(lane.fill, m, {forward(part)});
  for (Index part = parts; part-- > 0;) add(lane.drain, m, {backward(part)});
  return lane;
}

// --- Cutting off the micro-batches from `m` on ---

class Cutter {
 public:
  Cutter(Index m, Index chunks) : m_(m), next_(static_cast<std::size_t>(4 * chunks)) {}

  PipelineLane cut(const PipelineLane& whole) {
    PipelineLane lane;
    for (const PipelineLoop& loop : whole.fill) cut(loop, loop.count, lane.fill);
    cut_rounds(whole, lane);
    for (const PipelineLoop& loop : whole.drain) cut(loop, loop.count, lane.drain);
    if (lane.rounds == 0) lane.steady.clear();
    return lane;
  }

 private:
  Index& next(const PipelineAction& a) {
    return next_[static_cast<std::size_t>(a.chunk) * 4 + static_cast<std::size_t>(a.work)];
  }

  // No body has an action twice, so the one that is at micro-batch k is in the first m - k iterations.
  void cut(const PipelineLoop& loop, Index count, Loops& out) {
    Index done = 0;
    while (done < count) {
      Body body;
      Index end = count;
      for (const PipelineAction& a : loop.body) {
        const Index left = std::max<Index>(0, m_ - next(a));
        if (left <= done) continue;
        body.push_back(a);
        end = std::min(end, left);
      }
      if (body.empty()) break;
      add(out, end - done, std::move(body));
      done = end;
    }
    for (const PipelineAction& a : loop.body) next(a) += count;
  }

  // Whole rounds stay rolled; of the others' actions, the drain begins with those that are left.
  void cut_rounds(const PipelineLane& whole, PipelineLane& lane) {
    std::vector<Index> in_round(next_.size());
    next_.swap(in_round);
    for (const PipelineLoop& loop : whole.steady)
      for (const PipelineAction& a : loop.body) next(a) += loop.count;
    next_.swap(in_round);
    Index rounds = std::max<Index>(0, whole.rounds);
    for (std::size_t k = 0; k < next_.size(); ++k)
      if (in_round[k] > 0) rounds = std::min(rounds, std::max<Index>(0, m_ - next_[k]) / in_round[k]);
    lane.rounds = rounds;
    lane.steady = whole.steady;
    for (std::size_t k = 0; k < next_.size(); ++k) next_[k] += rounds * in_round[k];
    const Index rest = whole.rounds - rounds;
    if (whole.steady.size() == 1) {
      cut(whole.steady[0], rest * whole.steady[0].count, lane.drain);
    } else {
      for (Index r = 0; r < rest; ++r)
        for (const PipelineLoop& loop : whole.steady) cut(loop, loop.count, lane.drain);
    }
  }

  Index m_;
  std::vector<Index> next_;  // micro-batch of each action
};

PipelineLane rule(const PipelineRequest& request, Index lane) {
  const Index p = request.stages, m = request.micro_batches, enough = std::max(m, 2 * p);
  switch (request.kind) {
    case PipelineKind::gpipe: return in_turn(m, m, 0, false);
    case PipelineKind::one_f_one_b: return in_turn(enough, p - lane, 0, false);
    case PipelineKind::interleaved: {
      const Index v = request.chunks;
      if (v == 1) return in_turn(enough, p - lane, 0, false);
      const Index groups = m / p + (m % p != 0 ? 1 : 0);
      return Interleaving(p, v).lane(groups * p, std::min(groups * p * v, 2 * (p - lane - 1) + (v - 1) * p));
    }
    // With as many late weight gradients as there are lanes above, all lanes hold the same.
    case PipelineKind::zb_h1: return in_turn(enough, p - lane, lane, true);
    case PipelineKind::zb_h2: return in_turn(enough, 2 * (p - lane) - 1, 2 * lane, true);
    case PipelineKind::zb_v: return folded(enough, p, lane);
    case PipelineKind::forward_stream: {
      PipelineLane one;
      one.rounds = m;
      one.steady = {{1, {forward()}}};
      return one;
    }
    case PipelineKind::weight_stream: return one_after_the_other(m, p);
  }
  return {};
}

}  // namespace

PipelineShape shape_of(const PipelineRequest& request) {
  const Index p = request.stages;
  switch (request.kind) {
    case PipelineKind::interleaved: return {.lanes = p, .chunks = request.chunks};
    case PipelineKind::zb_h1:
    case PipelineKind::zb_h2: return {.lanes = p, .split = true};
    case PipelineKind::zb_v: return {.lanes = p, .chunks = 2, .folded = true, .split = true};
    case PipelineKind::forward_stream: return {.lanes = p, .backward = false};
    case PipelineKind::weight_stream: return {.lanes = 1, .chunks = p};
    default: return {.lanes = p};
  }
}

PipelineLane order_of(const PipelineRequest& request, Index lane) {
  return Cutter(request.micro_batches, shape_of(request).chunks).cut(rule(request, lane));
}

}  // namespace wafer::inline v0
