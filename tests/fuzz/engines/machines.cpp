// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "machines.hpp"

namespace fuzz {

using namespace wafer;

namespace {

constexpr Index kMostSide = 5000;  // of a spoilt machine that is a machine all the same

}  // namespace

Machine draw_machine(Random& random) {
  const Index most = random.pick(std::vector<Index>{1, 3, 8, 20});
  Index rows = random.between(1, most), columns = random.between(1, most);
  if (random.chance(0.3)) rows = 1;
  if (random.chance(0.1)) columns = 1;
  if (rows == 1 && random.chance(0.3)) columns = random.between(1, 200);
  Machine machine = Machine::mesh(rows, columns);
  if (random.chance(0.3)) {
    machine = random.chance(0.5) ? Machine::wse2() : Machine::wse3();
    machine.rows = rows;
    machine.columns = columns;
    machine.faults.clear();
  }
  if (random.chance(0.3)) machine.link_cycles = random.uniform(0.1, 3);
  if (random.chance(0.3)) machine.hop_cycles = random.uniform(0, 5);
  if (random.chance(0.3)) machine.turn_cycles = random.uniform(0, 25);
  if (random.chance(0.3)) machine.ramp_cycles = random.uniform(0, 6);
  if (random.chance(0.3)) machine.add_cycles = random.uniform(0, 4);
  if (random.chance(0.3)) machine.ports = static_cast<int>(random.between(1, 4));
  return machine;
}

void spoil(Random& random, Machine& machine) {
  switch (random.below(12)) {
    case 0:
    case 1: {
      Index& side = random.chance(0.5) ? machine.rows : machine.columns;
      const Index other = side;
      side = hostile(random);
      if (side > kMostSide && side < (Index{1} << 32)) side = other;
      break;
    }
    case 2: machine.link_cycles = hostile_real(random); break;
    case 3: machine.hop_cycles = hostile_real(random); break;
    case 4: machine.turn_cycles = hostile_real(random); break;
    case 5: machine.ramp_cycles = hostile_real(random); break;
    case 6: machine.op_cycles = hostile_real(random); break;
    case 7: machine.add_cycles = hostile_real(random); break;
    case 8: machine.ports = static_cast<int>(hostile(random)); break;
    case 9: machine.colours = static_cast<int>(hostile(random)); break;
    case 10: machine.link_queues = static_cast<int>(hostile(random)); break;
    default: {
      CoreArea fault{random.below(machine.rows), random.below(machine.columns), 1, 1};
      if (random.chance(0.3)) fault.rows = hostile(random);
      if (random.chance(0.3)) fault.column = hostile(random);
      machine.faults.push_back(fault);
    }
  }
}

std::string text_of(const Machine& m) {
  return std::to_string(m.rows) + " x " + std::to_string(m.columns) + " cores, link " +
         std::to_string(m.link_cycles) + ", hop " + std::to_string(m.hop_cycles) + ", turn " +
         std::to_string(m.turn_cycles) + ", ramp " + std::to_string(m.ramp_cycles) + ", op " +
         std::to_string(m.op_cycles) + ", add " + std::to_string(m.add_cycles) + ", " +
         std::to_string(m.ports) + " ports, " + std::to_string(m.colours) + " colours, " +
         std::to_string(m.link_queues) + " queues, " + std::to_string(m.faults.size()) + " faults";
}

}  // namespace fuzz
