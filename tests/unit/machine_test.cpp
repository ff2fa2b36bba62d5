// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/machine.hpp>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("machine: constants of the wafers") {
  const Machine two = Machine::wse2(), three = Machine::wse3();
  CHECK(two.cores() == 745'500);  // the SDK's greatest application
  CHECK(two.stage_cycles() == 5);
  CHECK(two.pace() == 1);
  CHECK(two.colours == 24);
  CHECK(three.cores() == 893'064);
  CHECK(three.stage_cycles() == 20);
  CHECK(three.pace() == 2);  // half an f32 addition a cycle is slower than the link
  CHECK(three.turn_cycles == 20);
  CHECK_NOTHROW(two.check());
  CHECK_NOTHROW(three.check());
  CHECK(Machine::mesh(3, 4).cores() == 12);
}

TEST_CASE("machine: what cannot be is refused by name") {
  CHECK_THROWS_WITH(Machine::mesh(0, 4), ContainsSubstring("at least one row and one column, got 0 x 4"));
  CHECK_THROWS_AS(Machine::mesh(Index{1} << 40, Index{1} << 40), UserError);
  CHECK_THROWS_AS(Machine::mesh(1 << 16, (1 << 15) + 1), UserError);
  const auto with = [](auto change) {
    Machine machine = Machine::mesh(4, 4);
    change(machine);
    return machine;
  };
  CHECK_THROWS_WITH(with([](Machine& m) { m.hop_cycles = -1; }).check(), ContainsSubstring("hop_cycles"));
  CHECK_THROWS_WITH(with([](Machine& m) { m.link_cycles = 0; }).check(), ContainsSubstring("link_cycles"));
  CHECK_THROWS_WITH(with([](Machine& m) { m.ramp_cycles = 0.0 / 0.0; }).check(),
                    ContainsSubstring("ramp_cycles"));
  CHECK_THROWS_WITH(with([](Machine& m) { m.ports = 5; }).check(), ContainsSubstring("1 to 4 ports, got 5"));
  CHECK_THROWS_WITH(with([](Machine& m) { m.colours = 0; }).check(), ContainsSubstring("colours, got 0"));
  CHECK_THROWS_WITH(with([](Machine& m) { m.clock = 0; }).check(), ContainsSubstring("clock"));
  CHECK_THROWS_WITH(with([](Machine& m) {
                      m.faults = {{2, 3, 1, 2}};
                    }).check(),
                    ContainsSubstring("1 x 2 cores at (2, 3)"));
}

TEST_CASE("machine: faulty cores") {
  Machine machine = Machine::mesh(4, 4);
  machine.faults = {{1, 0, 1, 4}, {3, 2, 1, 1}};
  CHECK(machine.faulty({1, 3}));
  CHECK(machine.faulty({3, 2}));
  CHECK_FALSE(machine.faulty({3, 3}));
  CHECK_FALSE(machine.faulty({0, 0}));
}
