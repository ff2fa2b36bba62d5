// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/simulator.hpp>

#include <limits>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A mesh of 3 x 4 and messages on it.
struct Mesh {
  Machine machine = Machine::mesh(3, 4);
  Traffic traffic{3, 4};

  MessageId add(Core from, std::vector<Segment> route, std::vector<Core> to, std::vector<Need> needs = {},
                std::uint32_t step = 0, int colour = 0) {
    std::vector<Delivery> deliveries;
    for (const Core core : to) deliveries.push_back({traffic.id(core), Combine::add});
    Message message;
    message.from = traffic.id(from);
    message.step = step;
    message.count = 10;
    message.colour = static_cast<std::uint8_t>(colour);
    return traffic.add(message, route, deliveries, needs);
  }
  void refuse(const std::string& part) const {
    CHECK_THROWS_AS(simulate(traffic, machine), UserError);
    CHECK_THROWS_WITH(simulate(traffic, machine), ContainsSubstring(part));
  }
};

constexpr auto kEast = Direction::east;
constexpr auto kSouth = Direction::south;

}  // namespace

TEST_CASE("simulator errors: a deadlock names its cores and steps") {
  Mesh mesh;
  mesh.add({0, 0}, {{0, 1, kEast}}, {{0, 1}}, {{1, true}}, 4);
  mesh.add({0, 1}, {{1, 1, Direction::west}}, {{0, 0}}, {{0, false}}, 5);
  mesh.refuse(
      "deadlock: message 0 of step 4, from core (0, 0), waits for message 1 of step 5, from core (0, 1), "
      "waits "
      "for message 0 of step 4");
  CHECK_THROWS_WITH(order_of(mesh.traffic), ContainsSubstring("deadlock"));
  // One that waits for itself, behind others that end.
  Mesh self;
  self.add({0, 0}, {{0, 1, kEast}}, {{0, 1}});
  Message work;
  work.from = 5;
  work.step = 7;
  const Need own{1, true};
  self.traffic.add(work, {}, {}, {&own, 1});
  self.refuse("message 1 of step 7, from core (1, 1), waits for message 1 of step 7");
}

TEST_CASE("simulator errors: a deadlock of very many messages is found at once") {
  Mesh mesh;
  constexpr MessageId kMessages = 300'000;
  for (MessageId id = 0; id < kMessages; ++id) {
    const Index column = id % 2;
    mesh.add({0, column}, {{id % 2, 1, column == 0 ? kEast : Direction::west}}, {{0, 1 - column}},
             {{(id + kMessages - 1) % kMessages, true}}, id);
  }
  mesh.refuse("deadlock: message 0 of step 0, from core (0, 0), waits for message 299999 of step 299999");
}

TEST_CASE("simulator errors: unmatched sends and receives") {
  Mesh nobody;
  nobody.add({1, 0}, {{4, 2, kEast}}, {}, {}, 3);
  nobody.refuse("message 0 of step 3, from core (1, 0): unmatched: nobody takes it at its end, core (1, 2)");
  Mesh elsewhere;
  elsewhere.add({1, 0}, {{4, 2, kEast}}, {{1, 2}, {1, 3}});
  elsewhere.refuse("unmatched: core (1, 3) expects it, but its route does not pass there");
  Mesh twice;
  twice.add({1, 0}, {{4, 2, kEast}}, {{1, 2}, {1, 2}});
  twice.refuse("core (1, 2) expects it twice");
  Mesh own;
  own.add({1, 0}, {{4, 2, kEast}}, {{1, 2}, {1, 0}});
  own.refuse("unmatched: core (1, 0)");
  Mesh waits;
  waits.add({1, 0}, {{4, 2, kEast}}, {{1, 2}}, {}, 1);
  waits.add({0, 0}, {{0, 1, kEast}}, {{0, 1}}, {{0, true}}, 2);
  waits.refuse("message 1 of step 2, from core (0, 0): unmatched: it waits for message 0 of step 1");
  Mesh none;
  none.add({0, 0}, {{0, 1, kEast}}, {{0, 1}}, {{9, true}});
  none.refuse("needs message 9");
  Mesh nowhere;
  nowhere.add({0, 0}, {{0, 1, kEast}}, {{0, 1}});
  const Delivery beyond{99, Combine::add};
  const Segment segment{0, 1, kEast};
  nowhere.traffic.add({0, 0, 0, 1}, {&segment, 1}, {&beyond, 1}, {});
  nowhere.refuse("core 99 expects it");
}

TEST_CASE("simulator errors: routes") {
  Mesh off;
  off.add({1, 2}, {{6, 2, kEast}}, {{1, 3}});
  off.refuse("its route leaves the mesh: expected 1 to 1 hops from core (1, 2), got 2");
  Mesh none;
  none.add({1, 2}, {{6, 0, kEast}}, {{1, 2}});
  none.refuse("got 0");
  Mesh apart;
  apart.add({1, 2}, {{6, 1, kEast}, {0, 1, kSouth}}, {{1, 3}, {1, 0}});
  apart.refuse("its route is not connected at core (0, 0)");
  Mesh round;
  round.add({0, 0}, {{0, 1, kEast}, {1, 1, kSouth}, {5, 1, Direction::west}, {4, 1, Direction::north}},
            {{0, 1}});
  round.refuse("its route meets itself at core (0, 0)");
  Mesh outside;
  outside.traffic.add({500, 0, 0, 1}, {}, {}, {});
  outside.refuse("expected a core of the mesh, got number 500");
}

TEST_CASE("simulator errors: faulty cores") {
  Mesh mesh;
  mesh.add({1, 0}, {{4, 3, kEast}}, {{1, 3}}, {}, 6);
  mesh.machine.faults = {{1, 2, 2, 1}};
  mesh.refuse("message 0 of step 6, from core (1, 0): goes through the faulty core (1, 2)");
  mesh.machine.faults = {{1, 0, 1, 1}};
  mesh.refuse("goes through the faulty core (1, 0)");
  mesh.machine.faults = {{0, 0, 1, 4}};
  CHECK_NOTHROW(simulate(mesh.traffic, mesh.machine));
}

TEST_CASE("simulator errors: colours and links over capacity") {
  Mesh colour;
  colour.add({1, 0}, {{4, 1, kEast}}, {{1, 1}}, {}, 2, 24);
  colour.refuse(
      "message 0 of step 2, from core (1, 0): is over the routers' colours: expected fewer than 24, got "
      "colour 24");
  // Four streams meet on the link from (1, 2) to (1, 3); three wait there.
  Mesh link;
  link.add({1, 2}, {{6, 1, kEast}}, {{1, 3}}, {}, 0, 0);
  link.add({1, 1}, {{5, 2, kEast}}, {{1, 3}}, {}, 0, 1);
  link.add({0, 2}, {{2, 1, kSouth}, {6, 1, kEast}}, {{1, 3}}, {}, 0, 2);
  link.add({2, 2}, {{10, 1, Direction::north}, {6, 1, kEast}}, {{1, 3}}, {}, 8, 3);
  CHECK(simulate(link.traffic, link.machine).link(6, kEast).most_queued == 4);
  link.machine.link_queues = 3;
  CHECK_NOTHROW(simulate(link.traffic, link.machine));
  link.machine.link_queues = 2;
  CHECK_THROWS_AS(simulate(link.traffic, link.machine), RunError);
  CHECK_THROWS_WITH(
      simulate(link.traffic, link.machine),
      ContainsSubstring("link east of core (1, 2) is over its 2 queues: 3 colours wait there") &&
          ContainsSubstring("message 3 of step 8, from core (2, 2)"));
}

TEST_CASE("simulator errors: sizes") {
  CHECK_THROWS_AS(Traffic(0, 4), UserError);
  CHECK_THROWS_AS(Traffic(Index{1} << 20, Index{1} << 20), UserError);
  Mesh mesh;
  mesh.add({0, 0}, {{0, 1, kEast}}, {{0, 1}});
  mesh.machine.rows = 2;
  mesh.refuse("expected a machine of at least 3 x 4 cores, got 2 x 4");
  mesh.machine.rows = 3;
  std::vector<float> values(12 * 9);  // ten wavelets are sent
  CHECK_THROWS_WITH(simulate(mesh.traffic, mesh.machine, values), ContainsSubstring("at least 10 wavelets"));
  values.resize(12 * 10 + 1);
  CHECK_THROWS_AS(simulate(mesh.traffic, mesh.machine, values), UserError);
  CHECK_THROWS_AS(mesh.traffic.add({0, 0, -1, 1}, {}, {}, {}), UserError);
  CHECK_THROWS_AS(mesh.traffic.add({0, 0, 0, 1, -1.0}, {}, {}, {}), UserError);
  CHECK(simulate(Traffic(1, 1), Machine::mesh(1, 1)).cycles == 0);
  CHECK(simulate(Traffic(), Machine::mesh(1, 1)).cycles == 0);
  CHECK_THROWS_AS(Traffic().add({}, {}, {}, {}), UserError);
  // Each fits into 63 bits, all together do not.
  Traffic full(1, 3);
  const Segment way{0, 2, Direction::east};
  const Delivery end{2, Combine::add};
  full.add({0, 0, 0, Index{1} << 61}, {&way, 1}, {&end, 1}, {});
  CHECK_THROWS_AS(full.add({0, 0, 0, Index{1} << 61}, {&way, 1}, {&end, 1}, {}), UserError);
  const Need none{5, true};
  full.add({0, 0, 0, 1}, {&way, 1}, {&end, 1}, {&none, 1});
  CHECK_THROWS_AS(order_of(full), UserError);
}

TEST_CASE("simulator: values are read when they leave") {
  // Core 0 sends its value to core 1 and later takes core 2's; what it sent is not changed by that.
  Mesh mesh;
  mesh.add({0, 0}, {{0, 1, kEast}}, {{0, 1}});
  mesh.add({0, 2}, {{2, 2, Direction::west}}, {{0, 0}}, {}, 0, 1);
  std::vector<float> values(120, 0);
  for (std::size_t i = 0; i < 10; ++i) {
    values[i] = 1;
    values[10 + i] = 10;
    values[20 + i] = 100;
  }
  simulate(mesh.traffic, mesh.machine, values);
  CHECK(values[0] == 101);
  CHECK(values[10] == 11);
  CHECK(values[20] == 100);
  CHECK(values[119] == 0);
}

TEST_CASE("simulator errors: what a core does with a message is adding or storing") {
  Mesh mesh;
  Message message;
  message.count = 1;
  const Segment way{0, 1, kEast};
  const Delivery to{1, Combine{9}};
  mesh.traffic.add(message, {&way, 1}, {&to, 1}, {});
  mesh.refuse("neither added nor stored");
}

TEST_CASE("simulator errors: work without end, and a refused message leaves nothing behind") {
  Mesh mesh;
  Message work;
  work.work = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(mesh.traffic.add(work, {}, {}, {}), ContainsSubstring("up to 1e15 cycles"));
  work.work = 0;
  work.count = std::numeric_limits<Index>::max();
  const Segment way{0, 1, kEast};
  const Delivery to{1, Combine::add};
  CHECK_THROWS_AS(mesh.traffic.add(work, {&way, 1}, {&to, 1}, {}), UserError);
  CHECK(mesh.traffic.size() == 0);
  CHECK(mesh.traffic.vector_length() == 0);
}
