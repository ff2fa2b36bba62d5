// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline_clock.hpp"

#include "compiler/pipeline_rules.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

constexpr Index kNever = std::numeric_limits<Index>::max();
constexpr std::int32_t kNone = -1;
constexpr Index kLongestPeriod = 16;  // sweeps after which lanes are seen to repeat themselves

// What one part hands to the next one on another lane: when each result was there, oldest first.
class Link {
 public:
  std::int32_t from = 0, to = 0;  // lanes

  bool empty() const { return first_ == last_; }
  std::size_t size() const { return last_ - first_; }
  Index operator[](std::size_t k) const { return times_[(first_ + k) & mask_]; }
  void push(Index time) {
    if (size() == mask_ + 1) grow();
    times_[last_++ & mask_] = time;
  }
  Index pop() { return times_[first_++ & mask_]; }
  void shift(Index cycles) {
    for (std::size_t k = first_; k != last_; ++k) times_[k & mask_] += cycles;
  }

  // The least time, since the mark, that a result was there before its reader was free; negative: it waited.
  Index slack = kNever;

 private:
  void grow() {
    std::vector<Index> more(times_.size() * 2);
    for (std::size_t k = 0; k < size(); ++k) more[k] = (*this)[k];
    last_ = size();
    first_ = 0;
    times_ = std::move(more);
    mask_ = times_.size() - 1;
  }

  std::vector<Index> times_ = std::vector<Index>(4);  // a ring, whose size is a power of two
  std::size_t mask_ = 3, first_ = 0, last_ = 0;
};

struct TimedAction {
  std::int32_t in = kNone, out = kNone;  // links
  Index duration = 0;
};

struct Frame {
  Index count = 0;
  std::uint32_t begin = 0, end = 0;  // actions
};

// A lane at work. Its units, by which lanes keep pace with each other: iterations of loops; or rounds, where
// a round has several loops (the fill belongs to the first one, the drain is the last).
struct Lane {
  std::vector<TimedAction> actions;
  std::vector<Frame> frames;
  std::size_t round_begin = 0, round_end = 0;  // frames of a round with several loops
  Index rounds = 0;                            // left of it, the present one included; 0: no such rounds

  std::size_t frame = 0;
  Index iterations = 0;      // left in the frame, the present one included
  std::uint32_t action = 0;  // next
  Index units = 0;           // done
  Index clock = 0, start = kNever;

  bool done() const { return frame == frames.size(); }
  bool by_rounds() const { return round_end > 0; }
  // Units that are left in this loop, the present one included.
  Index left() const { return by_rounds() ? rounds : iterations; }

  void enter() {
    if (done()) return;
    iterations = frames[frame].count;
    action = frames[frame].begin;
  }
  void next_iteration() {
    if (!by_rounds()) ++units;
    if (--iterations > 0) {
      action = frames[frame].begin;
      return;
    }
    ++frame;
    if (by_rounds() && frame == round_end) {
      ++units;
      if (--rounds > 0) frame = round_begin;
    }
    enter();
  }
};

// Where everything was at the mark, a sweep that later ones are compared with.
struct Mark {
  struct Place {
    std::size_t frame = 0;
    Index iterations = 0;
    std::uint32_t action = 0;
    Index units = 0, clock = 0;
  };
  Index sweep = 0;
  std::vector<Place> lanes;
  std::vector<std::size_t> sizes;
  std::vector<Index> times;  // of all links
};

class Clock {
 public:
  explicit Clock(const PipelineSchedule& schedule) : schedule_(schedule), lanes_(schedule.lanes.size()) {
    make_links();
    for (std::size_t l = 0; l < lanes_.size(); ++l) make_lane(l);
    set_mark();
  }

  void run() {
    while (!std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.done(); })) {
      if (sweep_ - mark_.sweep == patience_) {
        set_mark();
        patience_ = std::min(2 * patience_, kLongestPeriod);
      }
      ++sweep_;
      for (std::size_t l = 0; l < lanes_.size(); ++l) advance(l, sweep_);
      if (const Index periods = periods_to_skip(); periods > 0) {
        skip(periods);
        set_mark();
        patience_ = 1;
      }
    }
  }

  const Lane& lane(std::size_t l) const { return lanes_[l]; }

 private:
  void make_links() {
    const Index parts = schedule_.request.parts();
    forward_.assign(static_cast<std::size_t>(parts), kNone);
    backward_ = forward_;
    const bool both = shape_of(schedule_.request).backward;
    for (Index part = 0; part + 1 < parts; ++part) {
      const Index here = schedule_.lane_of(part), there = schedule_.lane_of(part + 1);
      if (here == there) continue;  // its order does it
      forward_[static_cast<std::size_t>(part)] = new_link(here, there);
      if (both) backward_[static_cast<std::size_t>(part + 1)] = new_link(there, here);
    }
  }

  std::int32_t new_link(Index from, Index to) {
    Link& link = links_.emplace_back();
    link.from = static_cast<std::int32_t>(from);
    link.to = static_cast<std::int32_t>(to);
    return static_cast<std::int32_t>(links_.size()) - 1;
  }

  void make_lane(std::size_t l) {
    const PipelineLane& order = schedule_.lanes[l];
    Lane& lane = lanes_[l];
    for (const PipelineLoop& loop : order.fill) add(l, loop, loop.count);
    if (order.steady.size() == 1) {
      add(l, order.steady[0], order.steady[0].count * order.rounds);
    } else if (order.rounds > 0) {
      lane.round_begin = lane.frames.size();
      for (const PipelineLoop& loop : order.steady) add(l, loop, loop.count);
      lane.round_end = lane.frames.size();
      lane.rounds = order.rounds;
    }
    for (const PipelineLoop& loop : order.drain) add(l, loop, loop.count);
    lane.enter();
  }

  void add(std::size_t l, const PipelineLoop& loop, Index count) {
    Lane& lane = lanes_[l];
    const auto begin = static_cast<std::uint32_t>(lane.actions.size());
    for (const PipelineAction& a : loop.body) lane.actions.push_back(timed(static_cast<Index>(l), a));
    lane.frames.push_back({count, begin, static_cast<std::uint32_t>(lane.actions.size())});
  }

  TimedAction timed(Index lane, const PipelineAction& a) const {
    const Index part = schedule_.part_of(lane, a.chunk);
    const PipelineDurations& d = schedule_.request.durations_of(part);
    const auto link_at = [](const std::vector<std::int32_t>& links, Index k) {
      return k >= 0 && k < static_cast<Index>(links.size()) ? links[static_cast<std::size_t>(k)] : kNone;
    };
    switch (a.work) {
      case PipelineWork::forward: return {link_at(forward_, part - 1), link_at(forward_, part), d.forward};
      case PipelineWork::backward:
        return {link_at(backward_, part + 1), link_at(backward_, part), d.input_gradient + d.weight_gradient};
      case PipelineWork::input_gradient:
        return {link_at(backward_, part + 1), link_at(backward_, part), d.input_gradient};
      case PipelineWork::weight_gradient: break;
    }
    return {kNone, kNone, d.weight_gradient};
  }

  // Until the lane has done so many units, or all; other lanes as far as it needs them, and to as many units
  // on the occasion.
  void advance(std::size_t l, Index units) {
    while (lanes_[l].units < units) {
      const std::int32_t missing = work(lanes_[l], units, nullptr);
      if (missing == kNone) break;
      needs_.push_back(missing);
      while (!needs_.empty()) {
        const Link& need = links_[static_cast<std::size_t>(needs_.back())];
        const std::int32_t further = work(lanes_[static_cast<std::size_t>(need.from)], units, &need);
        if (!need.empty()) {
          needs_.pop_back();
        } else {
          needs_.push_back(further);
          if (further == kNone || needs_.size() > lanes_.size())
            throw InternalError("a pipeline stage waits for what never comes");
        }
        if (timed_ > kMostTimed) give_up();
      }
    }
    if (timed_ > kMostTimed) give_up();
  }

  // Goes on, by whole iterations, until the lane has done so many units and the link, if there is one, has
  // got something. kNone; or the link that has not got what is needed next.
  std::int32_t work(Lane& lane, Index units, const Link* need) {
    while (!lane.done() && (lane.units < units || (need != nullptr && need->empty()))) {
      const std::int32_t missing = iterate(lane);
      if (missing != kNone) return missing;
    }
    return kNone;
  }

  // To the end of one iteration.
  std::int32_t iterate(Lane& lane) {
    const std::uint32_t end = lane.frames[lane.frame].end;
    std::uint32_t action = lane.action;
    Index clock = lane.clock;
    std::int32_t missing = kNone;
    for (; action < end; ++action) {
      const TimedAction& a = lane.actions[action];
      Index start = clock;
      if (a.in != kNone) {
        Link& in = links_[static_cast<std::size_t>(a.in)];
        if (in.empty()) {
          missing = a.in;
          break;
        }
        const Index there = in.pop();
        in.slack = std::min(in.slack, start - there);
        start = std::max(start, there);
      }
      if (lane.start == kNever) lane.start = start;
      clock = start + a.duration;
      if (a.out != kNone) links_[static_cast<std::size_t>(a.out)].push(clock);
    }
    timed_ += action - lane.action;
    lane.action = action;
    lane.clock = clock;
    if (missing == kNone) lane.next_iteration();
    return missing;
  }

  [[noreturn]] void give_up() const {
    const PipelineRequest& r = schedule_.request;
    throw CompileError("pipeline " + std::string(name_of(r.kind)) + " of " + std::to_string(r.stages) +
                       " stages and " + std::to_string(r.micro_batches) +
                       " micro-batches: expected its lanes to repeat themselves within " +
                       std::to_string(kMostTimed) + " actions");
  }

  void set_mark() {
    mark_.sweep = sweep_;
    mark_.lanes.clear();
    for (const Lane& lane : lanes_)
      mark_.lanes.push_back({lane.frame, lane.iterations, lane.action, lane.units, lane.clock});
    mark_.sizes.clear();
    mark_.times.clear();
    for (Link& link : links_) {
      mark_.sizes.push_back(link.size());
      for (std::size_t k = 0; k < link.size(); ++k) mark_.times.push_back(link[k]);
      link.slack = kNever;
    }
  }

  // The sweeps since the mark are a period where each lane is at the same place of its loop and what it hands
  // over moved in time as itself did. Then the next sweeps are the same again, until a loop ends or, where a
  // link's two lanes run at different speeds, its results come too late for a reader that has not waited so
  // far.
  Index periods_to_skip() {
    const Index sweeps = sweep_ - mark_.sweep;
    Index periods = kNever;
    moved_.clear();
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const Lane& lane = lanes_[l];
      const Mark::Place& was = mark_.lanes[l];
      moved_.push_back(lane.clock - was.clock);
      if (lane.frame != was.frame || lane.action != was.action) return 0;
      if (lane.done()) continue;
      if (lane.units - was.units != sweeps) return 0;
      if (lane.by_rounds() && lane.iterations != was.iterations) return 0;
      periods = std::min(periods, (lane.left() - 1) / sweeps);
    }
    if (periods <= 0 || periods == kNever || !links_moved()) return 0;
    for (const Link& link : links_) {
      const Index later =
          moved_[static_cast<std::size_t>(link.from)] - moved_[static_cast<std::size_t>(link.to)];
      if (link.slack < 0 && later != 0) return 0;
      if (later > 0 && link.slack != kNever) periods = std::min(periods, link.slack / later);
    }
    return periods;
  }

  bool links_moved() const {
    std::size_t time = 0;
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const Link& link = links_[k];
      if (link.size() != mark_.sizes[k]) return false;
      const Index moved = moved_[static_cast<std::size_t>(link.from)];
      for (std::size_t r = 0; r < link.size(); ++r)
        if (link[r] - mark_.times[time++] != moved) return false;
    }
    return true;
  }

  void skip(Index periods) {
    const Index units = periods * (sweep_ - mark_.sweep);
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      Lane& lane = lanes_[l];
      if (lane.done()) continue;
      lane.clock += moved_[l] * periods;
      lane.units += units;
      (lane.by_rounds() ? lane.rounds : lane.iterations) -= units;
    }
    for (Link& link : links_) link.shift(moved_[static_cast<std::size_t>(link.from)] * periods);
    sweep_ += units;
  }

  const PipelineSchedule& schedule_;
  std::vector<Lane> lanes_;
  std::vector<Link> links_;
  std::vector<std::int32_t> forward_, backward_;  // link that each part's results go to
  std::vector<std::int32_t> needs_;
  std::vector<Index> moved_;  // of each lane, cycles since the mark
  Mark mark_;
  Index patience_ = 1;  // sweeps from this mark to the next
  Index sweep_ = 0, timed_ = 0;
};

}  // namespace

void time_lanes(PipelineSchedule& schedule) {
  Clock clock(schedule);
  clock.run();
  for (std::size_t l = 0; l < schedule.lanes.size(); ++l) {
    schedule.lanes[l].start = clock.lane(l).start;
    schedule.lanes[l].end = clock.lane(l).clock;
  }
}

}  // namespace wafer::inline v0
