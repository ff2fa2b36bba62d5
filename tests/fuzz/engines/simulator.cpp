// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/simulator.hpp>

#include <algorithm>
#include <cmath>

#include "machines.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kMostValues = 100'000;

struct Draft {
  Message message;
  std::vector<Segment> route;
  std::vector<Delivery> deliveries;
  std::vector<Need> needs;
};

CoreId id_of(const Machine& m, Core core) { return static_cast<CoreId>(core.row * m.columns + core.column); }

Core moved(Core core, Direction direction, Index hops) {
  switch (direction) {
    case Direction::east: return {core.row, core.column + hops};
    case Direction::west: return {core.row, core.column - hops};
    case Direction::south: return {core.row + hops, core.column};
    case Direction::north: return {core.row - hops, core.column};
  }
  return core;
}

Index room(const Machine& m, Core core, Direction direction) {
  switch (direction) {
    case Direction::east: return m.columns - 1 - core.column;
    case Direction::west: return core.column;
    case Direction::south: return m.rows - 1 - core.row;
    case Direction::north: return core.row;
  }
  return 0;
}

// A tree of up to three segments that touch no router twice, taken at all ends and perhaps on the way.
Draft draw_message(Random& random, const Machine& m) {
  Draft d;
  const Core from{random.below(m.rows), random.below(m.columns)};
  d.message.from = id_of(m, from);
  d.message.step = static_cast<std::uint32_t>(random.below(9));
  d.message.first = random.below(20);
  d.message.count = random.below(random.pick(std::vector<Index>{2, 9, 300}));
  d.message.work = random.chance(0.3) ? random.uniform(0, 90) : 0;
  d.message.colour = static_cast<std::uint8_t>(random.below(std::min(m.colours, 6)));
  std::vector<Core> touched{from};
  const auto is_touched = [&](Core core) {
    return std::find(touched.begin(), touched.end(), core) != touched.end();
  };
  std::vector<Core> ends;
  for (Index k = random.below(4); k > 0; --k) {
    const Core start = touched.size() == 1 ? from : random.pick(touched);
    if (d.route.empty() && !(start == from)) continue;
    const auto direction = static_cast<Direction>(random.below(4));
    const Index most = room(m, start, direction);
    if (most == 0) continue;
    const Index hops = random.between(1, std::min<Index>(most, 12));
    bool free = true;
    for (Index h = 1; h <= hops; ++h) free = free && !is_touched(moved(start, direction, h));
    if (!free) continue;
    for (Index h = 1; h <= hops; ++h) touched.push_back(moved(start, direction, h));
    std::erase(ends, start);
    ends.push_back(touched.back());
    d.route.push_back({id_of(m, start), static_cast<std::uint32_t>(hops), direction});
  }
  for (const Core& core : touched) {
    const bool end = std::find(ends.begin(), ends.end(), core) != ends.end();
    if (core == from || !(end || random.chance(0.2))) continue;
    d.deliveries.push_back({id_of(m, core), random.chance(0.5) ? Combine::add : Combine::store});
  }
  return d;
}

// Needs earlier messages that come to its core.
void draw_needs(Random& random, const std::vector<Draft>& before, Draft& d) {
  for (std::size_t k = 0; k < before.size(); ++k) {
    const Draft& other = before[k];
    const bool computed = other.deliveries.empty() && other.message.from == d.message.from;
    const bool comes = std::any_of(other.deliveries.begin(), other.deliveries.end(),
                                   [&](const Delivery& delivery) { return delivery.core == d.message.from; });
    if ((computed || comes) && random.chance(0.5))
      d.needs.push_back({static_cast<MessageId>(k), random.chance(0.5)});
  }
}

void spoil(Random& random, std::vector<Draft>& drafts) {
  if (drafts.empty()) return;
  Draft& d = drafts[static_cast<std::size_t>(random.below(static_cast<Index>(drafts.size())))];
  switch (random.below(10)) {
    case 0: d.message.from = static_cast<CoreId>(hostile(random)); break;
    case 1: d.message.first = hostile(random); break;
    case 2: d.message.count = hostile(random); break;
    case 3: d.message.work = hostile_real(random); break;
    case 4: d.message.colour = static_cast<std::uint8_t>(random.below(256)); break;
    case 5:
      d.route.push_back({static_cast<CoreId>(random.below(40)), static_cast<std::uint32_t>(random.below(9)),
                         static_cast<Direction>(random.below(4))});
      break;
    case 6:
      if (!d.route.empty()) d.route[0].hops = static_cast<std::uint32_t>(hostile(random));
      break;
    case 7:
      if (!d.route.empty()) d.route.back().start = static_cast<CoreId>(hostile(random));
      break;
    case 8: d.deliveries.push_back({static_cast<CoreId>(random.below(60)), Combine::add}); break;
    default:
      d.needs.push_back(
          {static_cast<MessageId>(random.chance(0.8) ? random.below(static_cast<Index>(drafts.size()))
                                                     : hostile(random)),
           random.chance(0.5)});
  }
}

// Figures that follow from the messages alone.
std::string check_loads(const Traffic& traffic, const Machine& machine, const Simulation& s) {
  Index hops = 0;
  double slack = 1e-9;
  for (MessageId id = 0; id < traffic.size(); ++id) {
    Index own = 0;
    for (const Segment& segment : traffic.route(id)) own += segment.hops;
    hops += own * traffic.message(id).count;
    const double least = traffic.message(id).work;
    slack += s.cycles * 1e-12;
    if (!(s.finished[id] >= least) || s.finished[id] > s.cycles + slack)
      return "message " + std::to_string(id) + " ends at " + std::to_string(s.finished[id]) + " of " +
             std::to_string(s.cycles);
    for (const Need& need : traffic.needs(id)) {
      // Of its other receivers one may be late; so only what has one is compared.
      const bool one = traffic.deliveries(need.message).size() < 2;
      if (one && s.finished[need.message] > s.finished[id] + slack && traffic.message(id).count > 0 &&
          need.whole)
        return "message " + std::to_string(id) + " ends before what it needs";
    }
  }
  Index carried = 0;
  for (const LinkLoad& load : s.links) carried += load.wavelets;
  if (carried != hops || s.wavelet_hops != hops)
    return "links carried " + std::to_string(carried) + " and " + std::to_string(s.wavelet_hops) + " of " +
           std::to_string(hops) + " wavelet-hops";
  if (s.busiest_link(machine) > s.cycles + slack) return "a link is busy for longer than all";
  return "";
}

}  // namespace

void run_simulator(Random& random, Result& result) {
  Machine machine = draw_machine(random);
  const bool few_queues = random.chance(0.1);
  if (few_queues) machine.link_queues = static_cast<int>(random.between(1, 3));
  std::vector<Draft> drafts;
  for (Index k = random.below(random.pick(std::vector<Index>{2, 10, 60})); k > 0; --k) {
    Draft d = draw_message(random, machine);
    draw_needs(random, drafts, d);
    drafts.push_back(std::move(d));
  }
  const Index rows = machine.rows, columns = machine.columns;
  const bool spoilt = random.chance(0.4);
  if (spoilt && random.chance(0.3))
    spoil(random, machine);
  else if (spoilt)
    spoil(random, drafts);
  result.tell(std::to_string(drafts.size()) + " messages; " + text_of(machine));
  try {
    Traffic traffic(rows, columns);
    for (const Draft& d : drafts) traffic.add(d.message, d.route, d.deliveries, d.needs);
    const Simulation plain = simulate(traffic, machine);
    result.accepted = true;
    result.fault = check_loads(traffic, machine, plain);
    if (traffic.vector_length() <= kMostValues / (rows * columns)) {
      std::vector<float> values(static_cast<std::size_t>(rows * columns * traffic.vector_length()), 1);
      const Simulation again = simulate(traffic, machine, values);
      if (again.cycles != plain.cycles || again.finished != plain.finished)
        result.fault = "with values it takes another time";
    }
    if (order_of(traffic).size() != traffic.size()) result.fault = "an order without some messages";
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    result.accepted = false;
    if (!spoilt && !few_queues) result.fault = std::string("refused: ") + error.what();
  }
}

}  // namespace fuzz
