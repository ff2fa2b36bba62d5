// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/report/collective.hpp>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

namespace {

Collective reduce_on(Index rows, Index columns) {
  CollectiveRequest request;
  request.area = {0, 0, rows, columns};
  request.wavelets = 16;
  return build(request, {}, Machine::mesh(rows, columns));
}

std::string picture(const Collective& collective) {
  const Machine machine = Machine::mesh(collective.traffic.rows(), collective.traffic.columns());
  return collective_svg(collective, simulate(collective.traffic, machine));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("collective picture: cores, links with their load, and messages of a line") {
  const std::string line = picture(reduce_on(1, 5));
  CHECK_THAT(line, ContainsSubstring("reduce of 16 wavelets on 1 x 5 cores at (0, 0) by chain") &&
                       ContainsSubstring("modelled: 40 cycles, 4 messages, busiest link 16 wavelets"));
  CHECK(count(line, "<rect") == 1 + 6 + 5);  // with those of the legend
  CHECK(count(line, "<line") == 3 + 8);
  CHECK(count(line, "<polyline") == 1 + 4);
  CHECK_THAT(line, ContainsSubstring("receives 0 to 16 cycles") && ContainsSubstring("to 16 wavelets"));
  CHECK_THAT(line, ContainsSubstring("(0, 3) to (0, 2): 16 wavelets in 1 messages"));
  const std::string mesh = picture(reduce_on(3, 4));
  CHECK(count(mesh, "<rect") == 1 + 6 + 12);
  CHECK(count(mesh, "<line") == 3 + 2 * (3 * 3 + 2 * 4));
  CHECK(count(mesh, "<polyline") == 0);
  CHECK(mesh == picture(reduce_on(3, 4)));
}

TEST_CASE("collective picture: faulty cores in the area and next to it") {
  Machine machine = Machine::mesh(6, 6);
  machine.faults = {{1, 1, 1, 2}, {5, 5, 1, 1}};
  CollectiveRequest request;
  request.area = {2, 1, 2, 2};
  request.root = {2, 1};
  const Collective reduce = build(request, {}, machine);
  const Simulation simulation = simulate(reduce.traffic, machine);
  const std::string beside = collective_svg(reduce, simulation, machine.faults);
  CHECK_THAT(beside, ContainsSubstring("core (1, 1): faulty") && ContainsSubstring("core (1, 2): faulty") &&
                         !ContainsSubstring("core (5, 5)"));
  CHECK(count(beside, "<rect") == 1 + 7 + 4 + 2);
  CHECK_THAT(collective_svg(reduce, simulation), !ContainsSubstring("faulty"));
  // A send passes beside a fault of its rectangle.
  const Collective send = build(send_request({0, 0}, {2, 3}, 8), {Algorithm::direct}, machine);
  const std::string within = collective_svg(send, simulate(send.traffic, machine), machine.faults);
  CHECK_THAT(within, ContainsSubstring("core (1, 2): faulty"));
}

TEST_CASE("collective picture: too large, or another's simulation") {
  CHECK_THROWS_WITH(picture(reduce_on(65, 64)), ContainsSubstring("at most 4096 cores"));
  const Collective four = reduce_on(1, 4), five = reduce_on(1, 5);
  CHECK_THROWS_AS(collective_svg(four, simulate(five.traffic, Machine::mesh(1, 5))), UserError);
  Collective moved = four;
  moved.request.area.column = 100;
  const Simulation simulation = simulate(four.traffic, Machine::mesh(1, 4));
  CHECK_THROWS_WITH(collective_svg(moved, simulation), ContainsSubstring("on the traffic's mesh"));
  Simulation without_links = simulation;
  without_links.links.clear();
  CHECK_THROWS_AS(collective_svg(four, without_links), UserError);
}
