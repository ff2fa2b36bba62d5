// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/simplify.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

void drop_dead_ops(const GraphData& graph, Program& program) {
  // An assignment of a variable's own value changes nothing.
  std::erase_if(program.assignments, [](const Program::Assignment& a) { return a.variable == a.value; });
  std::vector<bool> needed(graph.values.size());
  for (const Program::Fetch& fetch : program.fetches) needed[fetch.value] = true;
  for (const Program::Assignment& a : program.assignments) needed[a.value] = needed[a.variable] = true;
  std::vector<bool> keep(program.order.size());
  for (std::size_t p = program.order.size(); p-- > 0;) {
    const Node& node = graph.nodes[program.order[p]];
    for (std::uint32_t r = 0; r < node.values; ++r) keep[p] = keep[p] || needed[node.first_value + r];
    for (ValueId value : graph.inputs_of(node)) needed[value] = needed[value] || keep[p];
  }
  std::size_t kept = 0;
  for (std::size_t p = 0; p < program.order.size(); ++p) {
    if (!keep[p]) continue;
    program.order[kept] = program.order[p];
    program.region[kept++] = program.region[p];
  }
  program.order.resize(kept);
  program.region.resize(kept);
  std::erase_if(program.sources, [&](ValueId source) { return !needed[source]; });
  for (const Program::Assignment& a : program.assignments) {
    if (std::find(program.sources.begin(), program.sources.end(), a.variable) == program.sources.end()) {
      program.sources.push_back(a.variable);  // written, but not read
    }
  }
}

}  // namespace

Step simplify(Step step) {
  for (Program& program : step.programs) drop_dead_ops(*step.graph, program);
  return step;
}

}  // namespace wafer::inline v0
