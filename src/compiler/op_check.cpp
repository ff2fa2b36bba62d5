// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/op_check.hpp"

#include <wafer/error.hpp>

#include <string>

namespace wafer::inline v0 {

namespace {

constexpr double kMostWork = 1e18;              // operations or bytes of one op; more is a mistake
constexpr Index kMostScratch = Index{1} << 40;  // bytes of one worker

// In [0, count).
bool is_one_of(int number, std::uint32_t count) {
  return number >= 0 && static_cast<std::uint32_t>(number) < count;
}

bool is_work(double value) { return value >= 0 && value <= kMostWork; }

}  // namespace

void check_op(const GraphData& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const OpModel& model = node.op.model();
  if (!model.alias && !model.kernels && !model.cost) return;
  const auto fail = [&](const std::string& expected, const std::string& got) {
    throw UserError(graph.where(id) + ": expected " + expected + ", got " + got);
  };
  const Types in = graph.input_types(node);
  for (const AliasPair& pair : node.op.alias(in)) {
    if (is_one_of(pair.result, node.values) && is_one_of(pair.input, node.inputs)) continue;
    fail("an alias of one of " + std::to_string(node.values) + " results and " + std::to_string(node.inputs) +
             " inputs",
         "numbers " + std::to_string(pair.result) + " and " + std::to_string(pair.input));
  }
  for (const Kernel& kernel : node.op.kernels(in)) {
    if (!kernel.run) fail("a function in each kernel", "none");
    if (kernel.scratch_bytes >= 0 && kernel.scratch_bytes <= kMostScratch) continue;
    fail("0 to " + std::to_string(kMostScratch) + " bytes of scratch", std::to_string(kernel.scratch_bytes));
  }
  if (!model.cost) return;
  const Cost cost = node.op.cost(in, graph.result_types(node));
  if (is_work(cost.flops) && is_work(cost.bytes)) return;
  fail("a cost of 0 to 1e18 operations and bytes",
       std::to_string(cost.flops) + " and " + std::to_string(cost.bytes));
}

}  // namespace wafer::inline v0
