// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/simulator.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

using namespace wafer;

namespace {

/// One straight message along row 0, from one column to another.
MessageId along_row(Traffic& traffic, Index from, Index to, Index count, std::vector<Need> needs = {},
                    int colour = 0, Combine combine = Combine::add, double work = 0) {
  Message message;
  message.from = static_cast<CoreId>(from);
  message.count = count;
  message.colour = static_cast<std::uint8_t>(colour);
  message.work = work;
  const Segment segment{message.from, static_cast<std::uint32_t>(std::abs(to - from)),
                        to > from ? Direction::east : Direction::west};
  const Delivery delivery{static_cast<CoreId>(to), combine};
  return traffic.add(message, {&segment, 1}, {&delivery, 1}, needs);
}

Machine line_of(Index cores) {
  Machine machine = Machine::wse2();
  machine.rows = 1;
  machine.columns = cores;
  return machine;
}

CollectiveRequest on_line(CollectiveKind kind, Index cores, Index wavelets) {
  CollectiveRequest request;
  request.kind = kind;
  request.area = {0, 0, 1, cores};
  request.wavelets = wavelets;
  return request;
}

}  // namespace

TEST_CASE("simulator: one message takes ramps, hops and its wavelets") {
  Traffic traffic(1, 10);
  along_row(traffic, 2, 9, 100);
  const Simulation simulation = simulate(traffic, line_of(10));
  CHECK(simulation.cycles == 2 + 7 + 2 + 1 + 100);
  CHECK(simulation.finished == std::vector<double>{112});
  CHECK(simulation.wavelet_hops == 700);
  CHECK(simulation.waited == 0);
  CHECK(simulation.link(2, Direction::east).wavelets == 100);
  CHECK(simulation.link(2, Direction::east).busy == 100);
  CHECK(simulation.link(8, Direction::east).messages == 1);
  CHECK(simulation.link(9, Direction::east).wavelets == 0);
  CHECK(simulation.link(3, Direction::west).wavelets == 0);
  CHECK(simulation.cores[2].sending == 100);
  CHECK(simulation.cores[9].receiving == 100);
  CHECK(simulation.cores[9].computing == 100);
  CHECK(simulation.busiest_link(line_of(10)) == 100);
}

TEST_CASE("simulator: a turn, slower links and slower adders") {
  const Machine machine = [] {
    Machine wse3 = Machine::wse3();
    wse3.rows = wse3.columns = 8;
    return wse3;
  }();
  const CollectiveRequest request = send_request({1, 1}, {4, 6}, 64);
  const Simulation stored = simulate(build(request, {Algorithm::direct}, machine).traffic, machine);
  CHECK(stored.cycles == 2 + 8 * 2 + 20 + 2 + 16 + 64 * 1.125);
  Traffic traffic(1, 3);
  const MessageId first = along_row(traffic, 2, 1, 10);
  along_row(traffic, 1, 0, 10, {{first, false}}, 1);
  // Adding takes two cycles a wavelet; the second core follows at that pace.
  const Simulation added = simulate(traffic, machine);
  CHECK(added.cycles == 2 * (2 + 2 + 2 + 16) + 10 * 2);
  CHECK(added.link(2, Direction::west).busy == 11.25);
  CHECK(added.link(1, Direction::west).busy == 20);
}

TEST_CASE("simulator: streams that meet on a link pass one after the other") {
  Traffic traffic(1, 6);
  along_row(traffic, 0, 4, 50);
  along_row(traffic, 1, 5, 50, {}, 1);  // starts behind the link 0 to 1, so it is first on the shared ones
  const Simulation simulation = simulate(traffic, line_of(6));
  CHECK(simulation.finished[1] == 2 + 4 + 2 + 1 + 50);
  // At the link 1 to 2 after 3 cycles; it is free after 52.
  CHECK(simulation.finished[0] == 52 + 3 + 2 + 1 + 50);
  CHECK(simulation.link(1, Direction::east).waited == 49);
  CHECK(simulation.link(1, Direction::east).most_queued == 2);
  CHECK(simulation.waited == 49);
  // Opposite ways share nothing.
  Traffic opposite(1, 6);
  along_row(opposite, 0, 5, 50);
  along_row(opposite, 5, 0, 50);
  CHECK(simulate(opposite, line_of(6)).cycles == 2 + 5 + 2 + 1 + 50);
}

TEST_CASE("simulator: a ramp takes one message after the other") {
  const auto cycles = [](int second_colour) {
    Traffic traffic(1, 3);
    along_row(traffic, 0, 1, 50, {}, 0);
    along_row(traffic, 2, 1, 50, {}, second_colour);
    return simulate(traffic, line_of(3)).cycles;
  };
  CHECK(cycles(0) == 2 + 1 + 2 + 1 + 100);      // one stream of one colour
  CHECK(cycles(1) == 2 + 1 + 2 + 1 + 100 + 4);  // another colour: a round trip over the ramp
  Machine four = line_of(3);
  four.ports = 4;  // each way has a ramp of its own
  Traffic traffic(1, 3);
  along_row(traffic, 0, 1, 50);
  along_row(traffic, 2, 1, 50);
  CHECK(simulate(traffic, four).cycles == 2 + 1 + 2 + 1 + 50);
}

TEST_CASE("simulator: what stands before a ramp holds its colour behind it") {
  // Two from the east on colour 0 to core 0, whose ramp is busy with one on colour 1; core 3 sends to core 2
  // on colour 0 over a link that the waiting one holds.
  const auto finished = [](int colour) {
    Traffic traffic(2, 6);
    const Segment up{6, 1, Direction::north};
    const Delivery taken{0, Combine::add};
    traffic.add({6, 0, 0, 100, 0, 1}, {&up, 1}, {&taken, 1}, {});
    along_row(traffic, 5, 0, 20);
    const MessageId work = along_row(traffic, 3, 2, 20, {}, colour, Combine::add, 40);
    Machine machine = line_of(6);
    machine.rows = 2;
    return simulate(traffic, machine).finished[work];
  };
  CHECK(finished(2) == 40 + 2 + 1 + 2 + 1 + 20);
  CHECK(finished(0) > 100);
}

TEST_CASE("simulator: needs, whole or wavelet by wavelet, and work") {
  const auto cycles = [](bool whole, double work) {
    Traffic traffic(1, 3);
    const MessageId first = along_row(traffic, 2, 1, 30);
    along_row(traffic, 1, 0, 30, {{first, whole}}, 1, Combine::add, work);
    return simulate(traffic, line_of(3)).cycles;
  };
  CHECK(cycles(false, 0) == 6 + 6 + 30);
  CHECK(cycles(true, 0) == 6 + 30 + 6 + 30);
  CHECK(cycles(true, 500) == 6 + 30 + 500 + 6 + 30);
  // A short one that follows a long one ends behind it.
  Traffic traffic(1, 3);
  const MessageId longer = along_row(traffic, 2, 1, 30);
  const MessageId shorter = along_row(traffic, 1, 0, 10, {{longer, false}}, 1);
  CHECK(simulate(traffic, line_of(3)).finished[shorter] == 36 - 10 + 6 + 10);
  // Work of one core is done one piece after the other; a message without a route is work alone.
  Traffic busy(1, 2);
  Message work;
  work.work = 100;
  busy.add(work, {}, {}, {});
  along_row(busy, 0, 1, 5, {}, 0, Combine::store, 70);
  const Simulation simulation = simulate(busy, line_of(2));
  CHECK(simulation.finished[0] == 100);
  CHECK(simulation.finished[1] == 170 + 6 + 5);
  CHECK(simulation.cores[0].computing == 170);
}

TEST_CASE("simulator: the same input gives the same result") {
  const CollectiveRequest request = on_line(CollectiveKind::all_reduce, 48, 77);
  for (const Method& method : methods_for(request)) {
    const Collective collective = build(request, method, line_of(48));
    const Simulation a = simulate(collective.traffic, line_of(48)),
                     b = simulate(collective.traffic, line_of(48));
    CHECK(a.cycles == b.cycles);
    CHECK(a.finished == b.finished);
  }
}

TEST_CASE("simulator: uncontended traffic is at the formula") {
  for (const Machine& base : {Machine::wse2(), Machine::wse3()}) {
    Machine machine = base;
    machine.rows = 9;
    machine.columns = 64;
    for (const Index wavelets : {1, 30, 4096}) {
      const CollectiveRequest sent = send_request({0, 0}, {8, 63}, wavelets);
      CHECK(simulate(build(sent, {Algorithm::direct}, machine).traffic, machine).cycles ==
            Approx(modelled_cycles(sent, {Algorithm::direct}, machine)).epsilon(0.01));
      CollectiveRequest flood = on_line(CollectiveKind::broadcast, 64, wavelets);
      flood.area.rows = 9;
      flood.root = {4, 20};
      CHECK(simulate(build(flood, {Algorithm::flood}, machine).traffic, machine).cycles ==
            Approx(modelled_cycles(flood, {Algorithm::flood}, machine)).epsilon(0.01));
    }
  }
}

TEST_CASE("simulator: the formulas' errors over lines of 4 to 128 cores and 1 to 4096 wavelets") {
  // Greatest |formula / simulation - 1| seen on WSE-2; docs/fabric_model.md explains those above 10 %.
  const std::map<std::string, double> known = {{"two_phase", 0.113}, {"middle_tree", 0.16}};
  std::map<std::string, std::vector<double>> errors;
  for (Index cores = 4; cores <= 128; cores *= 2) {
    for (Index wavelets = 1; wavelets <= 4096; wavelets *= 2) {
      for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::all_reduce,
                                        CollectiveKind::all_gather, CollectiveKind::broadcast}) {
        const CollectiveRequest request = on_line(kind, cores, wavelets);
        for (const Method& method : methods_for(request)) {
          const Machine machine = line_of(cores);
          const double simulated = simulate(build(request, method, machine).traffic, machine).cycles;
          errors[text_of(method, request.area)].push_back(
              std::abs(modelled_cycles(request, method, machine) / simulated - 1));
        }
      }
    }
  }
  REQUIRE(errors.size() == 15);
  for (auto& [name, all] : errors) {
    INFO(name);
    std::sort(all.begin(), all.end());
    const auto at = known.find(name);
    CHECK(all[all.size() / 2] <= 0.05);
    CHECK(all.back() <= (at == known.end() ? 0.10 : at->second));
  }
}

TEST_CASE("simulator: what is chosen by formula is within 1 % of the fastest by simulation") {
  double worst = 0;
  int compared = 0;
  for (Index cores = 4; cores <= 128; cores *= 2) {
    for (Index wavelets = 1; wavelets <= 4096; wavelets *= 4) {
      for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::all_reduce}) {
        const CollectiveRequest request = on_line(kind, cores, wavelets);
        const Machine machine = line_of(cores);
        double fastest = 1e300;
        for (const Method& method : methods_for(request))
          fastest = std::min(fastest, simulate(build(request, method, machine).traffic, machine).cycles);
        const Method chosen = choose_method(request, machine).method;
        worst = std::max(worst, simulate(build(request, chosen, machine).traffic, machine).cycles / fastest);
        ++compared;
      }
    }
  }
  CHECK(compared == 6 * 7 * 2);
  CHECK(worst <= 1.01);
}
