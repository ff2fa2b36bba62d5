// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/op_check.hpp"
#include "compiler/request_check.hpp"
#include "core/step_name.hpp"

#include <wafer/compiler/step.hpp>
#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/optim/clip.hpp>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace wafer::inline v0 {

std::string_view name_of(Region region) {
  switch (region) {
    case Region::prologue: return "prologue";
    case Region::body: return "body";
    case Region::epilogue: return "epilogue";
    case Region::commit: return "commit";
  }
  return "?";
}

namespace {

// What a variable is assigned, in memory of its own where it is a variable itself: the commit may have
// written that one by the time it is read.
Tensor apart(const Tensor& value) {
  const GraphData& graph = *value.data();
  const bool variable = graph.nodes[graph.values[value.value()].node].kind == NodeKind::variable;
  return variable ? apply(Cast{value.dtype()}, {value}).at(0) : value;
}

// Gradients, clipping and update of one request, as further ops of the snapshot.
std::vector<Program::Assignment> derive_training(const std::shared_ptr<GraphData>& graph,
                                                 const Request& request) {
  const Tensor loss(graph, request.loss.value());
  Tensors parameters;
  std::vector<GradientOf> trained;
  for (NodeId id : walk(*graph, std::vector<ValueId>{loss.value()})) {
    const Node& node = graph->nodes[id];
    if (node.kind != NodeKind::variable || !graph->variables[node.source].trained) continue;
    const VariableInfo& variable = graph->variables[node.source];
    parameters.emplace_back(graph, node.first_value);
    trained.push_back({variable.path, parameters.back(), {}, variable.decays});
  }
  const Tensors gradients = gradients_of(loss, parameters);
  for (std::size_t i = 0; i < trained.size(); ++i) trained[i].gradient = gradients[i];
  std::erase_if(trained, [](const GradientOf& of) { return !of.gradient; });
  Tensors flowing;
  for (const GradientOf& of : trained) flowing.push_back(of.gradient);
  if (parameters.empty())
    throw UserError("minimize: expected a loss that depends on parameters, got one that does not");
  if (trained.empty()) {
    throw UserError(
        "minimize: expected a loss whose gradient reaches parameters, got one whose gradient stops at " +
        stop_of_gradients(loss, parameters));
  }
  graph->scope = 0;
  UpdateBuilder builder{Graph(graph)};
  if (request.max_norm > 0) builder.set_scale(clip_scale(flowing, request.max_norm));
  request.optimizer->build(builder, trained);
  if (builder.assignments().empty())
    throw UserError("minimize: expected an optimizer that assigns variables, got one that assigns none");
  std::vector<Program::Assignment> assignments;
  for (const UpdateBuilder::Assignment& a : builder.assignments()) {
    assignments.push_back({a.variable.value(), apart(a.value).value(), false});
  }
  return assignments;
}

bool tagged(const Value& value, int axis) {
  return std::find(value.axes.begin(), value.axes.end(), static_cast<std::int16_t>(axis)) != value.axes.end();
}

// How the ops of one program relate to the batch, and the regions that follow from it.
class RegionSplit {
 public:
  RegionSplit(const GraphData& graph, Program& program) : graph_(graph), program_(program) {}

  void run() {
    find_batch_axis();
    const std::size_t ops = program_.order.size();
    program_.region.assign(ops, Region::prologue);
    if (program_.batch_axis < 0) return;
    std::vector<bool> batch(ops), after(graph_.values.size()), needed(graph_.values.size());
    for (std::size_t p = 0; p < ops; ++p) {
      const Node& node = graph_.nodes[program_.order[p]];
      batch[p] = touches_batch(node);
      bool follows = batch[p];
      for (ValueId value : graph_.inputs_of(node)) follows = follows || after[value];
      for (std::uint32_t r = 0; follows && r < node.values; ++r) after[node.first_value + r] = true;
      if (follows) program_.region[p] = Region::epilogue;
    }
    for (std::size_t p = ops; p-- > 0;) {
      const Node& node = graph_.nodes[program_.order[p]];
      bool feeds_body = batch[p];
      for (std::uint32_t r = 0; r < node.values; ++r) feeds_body = feeds_body || needed[node.first_value + r];
      if (!feeds_body) continue;
      for (ValueId value : graph_.inputs_of(node)) needed[value] = true;
      if (program_.region[p] == Region::epilogue) program_.region[p] = Region::body;
    }
    find_whole_batch(batch);
  }

 private:
  void find_batch_axis() {
    for (ValueId source : program_.sources) {
      if (graph_.nodes[graph_.values[source].node].kind != NodeKind::input) continue;
      for (std::int16_t axis : graph_.values[source].axes) {
        if (axis >= 0) {
          program_.batch_axis = axis;
          return;
        }
      }
    }
  }

  bool touches_batch(const Node& node) const {
    for (ValueId value : graph_.inputs_of(node)) {
      if (tagged(graph_.values[value], program_.batch_axis)) return true;
    }
    for (std::uint32_t r = 0; r < node.values; ++r) {
      if (tagged(graph_.values[node.first_value + r], program_.batch_axis)) return true;
    }
    return false;
  }

  // Micro-batches are ruled out by an op of the body that reads a result of the whole batch, or that needs
  // the batch in one piece.
  void find_whole_batch(const std::vector<bool>& batch) {
    std::vector<bool> in_body(graph_.values.size());
    for (std::size_t p = 0; p < program_.order.size(); ++p) {
      const NodeId id = program_.order[p];
      const Node& node = graph_.nodes[id];
      if (program_.region[p] != Region::body) continue;
      for (ValueId value : graph_.inputs_of(node)) {
        if (in_body[value] && !tagged(graph_.values[value], program_.batch_axis)) program_.whole_batch = id;
      }
      if (batch[p] && !cuts_batch(node)) program_.whole_batch = id;
      for (std::uint32_t r = 0; r < node.values; ++r) in_body[node.first_value + r] = true;
      if (program_.whole_batch != kNone) return;
    }
  }

  // A part of the batch is a part of each operand along one factor: of two, as in the product of a batch with
  // itself, parts would give the blocks of the diagonal only.
  bool cuts_batch(const Node& node) const {
    const AxesRule rule = node.op.axes(graph_.input_types(node));
    int batch_factor = -1;
    const auto fits = [&](const std::vector<AxesRule::Dims>& operands, std::size_t i, const Value& value) {
      for (std::size_t d = 0; d < operands[i].size(); ++d) {
        if (value.axes[d] != program_.batch_axis) continue;
        const int f = operands[i][d][0];
        const Factor& factor = rule.factors()[static_cast<std::size_t>(f)];
        if (factor.kind == FactorKind::whole || factor.unit != 1) return false;
        if (batch_factor >= 0 && batch_factor != f) return false;
        batch_factor = f;
      }
      return true;
    };
    for (std::size_t i = 0; i < node.inputs; ++i) {
      if (!fits(rule.inputs(), i, graph_.values[graph_.inputs[node.first_input + i]])) return false;
    }
    for (std::uint32_t r = 0; r < node.values; ++r) {
      if (!fits(rule.results(), r, graph_.values[node.first_value + r])) return false;
    }
    return true;
  }

  const GraphData& graph_;
  Program& program_;
};

// An update whose results may take its variables' memory runs at the very end, where nothing can fail any
// more.
void move_updates_to_commit(const GraphData& graph, Program& program) {
  std::unordered_map<ValueId, Program::Assignment*> assigned;  // by the new value
  for (Program::Assignment& a : program.assignments) assigned[a.value] = &a;
  std::unordered_map<ValueId, int> readers;
  for (NodeId id : program.order) {
    for (ValueId value : graph.inputs_of(graph.nodes[id])) ++readers[value];
  }
  for (const Program::Fetch& fetch : program.fetches) ++readers[fetch.value];
  std::unordered_set<NodeId> commits;
  const auto writes_variables_only = [&](const Node& node) {
    if (node.op.model().can_fail || node.values == 0) return false;
    const Alias alias = node.op.alias(graph.input_types(node));
    for (std::uint32_t r = 0; r < node.values; ++r) {
      const auto target = assigned.find(node.first_value + r);
      const auto pair = std::find_if(alias.begin(), alias.end(),
                                     [&](const AliasPair& a) { return a.result == static_cast<int>(r); });
      if (target == assigned.end() || pair == alias.end() || readers.contains(node.first_value + r))
        return false;
      if (graph.inputs[node.first_input + static_cast<std::uint32_t>(pair->input)] !=
          target->second->variable) {
        return false;
      }
    }
    return true;
  };
  for (std::size_t p = 0; p < program.order.size(); ++p) {
    const Node& node = graph.nodes[program.order[p]];
    if (program.region[p] == Region::body || !writes_variables_only(node)) continue;
    // Another update that reads the old value would see the new one.
    bool alone = true;
    for (std::uint32_t r = 0; r < node.values; ++r) {
      const ValueId variable = assigned[node.first_value + r]->variable;
      for (NodeId other : commits) {
        for (ValueId value : graph.inputs_of(graph.nodes[other])) alone = alone && value != variable;
      }
      for (ValueId value : graph.inputs_of(node)) {
        for (const Program::Assignment& a : program.assignments)
          alone = alone && !(a.in_place && a.variable == value);
      }
    }
    if (!alone) continue;
    commits.insert(program.order[p]);
    program.region[p] = Region::commit;
    for (std::uint32_t r = 0; r < node.values; ++r) assigned[node.first_value + r]->in_place = true;
  }
}

void sort_by_region(Program& program) {
  std::vector<NodeId> order;
  std::vector<Region> region;
  for (int r = 0; r < kRegions; ++r) {
    for (std::size_t p = 0; p < program.order.size(); ++p) {
      if (program.region[p] != static_cast<Region>(r)) continue;
      order.push_back(program.order[p]);
      region.push_back(program.region[p]);
    }
  }
  program.order = std::move(order);
  program.region = std::move(region);
}

// A gradient of a variable is made as soon as its operands are there and nothing but the update reads the
// variable any more: then both are in cache, and the operands are used up.
void advance_gradients(const GraphData& graph, Program& program) {
  std::unordered_map<NodeId, std::size_t> updates;  // and the last op that reads what they assign
  for (const Program::Assignment& a : program.assignments) updates.emplace(graph.values[a.value].node, 0);
  std::unordered_map<ValueId, std::size_t> made, last_read;
  for (std::size_t p = 0; p < program.order.size(); ++p) {
    const NodeId id = program.order[p];
    const Node& node = graph.nodes[id];
    for (std::uint32_t r = 0; r < node.values; ++r) made[node.first_value + r] = p;
    if (updates.contains(id)) continue;
    for (ValueId value : graph.inputs_of(node)) last_read[value] = p;
  }
  const auto position_in = [](const std::unordered_map<ValueId, std::size_t>& of, ValueId value) {
    const auto at = of.find(value);
    return at == of.end() ? 0 : at->second;
  };
  for (const Program::Assignment& a : program.assignments) {
    std::size_t& last = updates[graph.values[a.value].node];
    last = std::max(last, position_in(last_read, a.variable));
  }
  std::vector<std::size_t> key;  // even where an op stays, odd right behind another
  for (std::size_t p = 0; p < program.order.size(); ++p) key.push_back(2 * p);
  for (const Program::Assignment& a : program.assignments) {
    const NodeId update = graph.values[a.value].node;
    for (ValueId gradient : graph.inputs_of(graph.nodes[update])) {
      const auto at = made.find(gradient);
      if (at == made.end()) continue;
      if (graph.values[gradient].type.shape != graph.values[a.variable].type.shape) continue;
      std::size_t behind = updates[update];
      for (ValueId value : graph.inputs_of(graph.nodes[program.order[at->second]]))
        behind = std::max(behind, position_in(made, value));
      key[at->second] = std::min(key[at->second], 2 * behind + 1);
    }
  }
  std::vector<std::size_t> from(key.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(), [&](std::size_t x, std::size_t y) { return key[x] < key[y]; });
  std::vector<NodeId> order;
  for (std::size_t p : from) order.push_back(program.order[p]);
  program.order = std::move(order);
}

Program flatten(const GraphData& graph, const NamedRequest& named,
                std::vector<Program::Assignment> assignments) {
  Program program;
  program.name = named.name;
  program.assignments = std::move(assignments);
  std::vector<ValueId> roots;
  for (const Request::Fetch& fetch : named.request.fetches) {
    program.fetches.push_back({fetch.name, fetch.tensor.value()});
    roots.push_back(fetch.tensor.value());
  }
  for (const Program::Assignment& a : program.assignments) roots.push_back(a.value);
  for (NodeId id : walk(graph, roots)) {
    if (graph.nodes[id].kind == NodeKind::op) {
      program.order.push_back(id);
    } else {
      program.sources.push_back(graph.nodes[id].first_value);
    }
  }
  advance_gradients(graph, program);
  for (NodeId id : program.order) check_op(graph, id);
  RegionSplit(graph, program).run();
  move_updates_to_commit(graph, program);
  sort_by_region(program);
  return program;
}

}  // namespace

Step derive_step(std::span<const NamedRequest> requests) {
  Step step;
  check_requests(requests);
  const Request& first = requests.front().request;
  const Tensor& any = first.loss ? first.loss : first.fetches.front().tensor;
  step.graph = std::make_shared<GraphData>(*any.data());
  for (const NamedRequest& named : requests) {
    std::vector<Program::Assignment> assignments;
    if (named.request.loss) {
      try {
        assignments = derive_training(step.graph, named.request);
      } catch (const UserError& error) {
        throw UserError(at_step(named.name) + error.what());
      }
    }
    step.programs.push_back(flatten(*step.graph, named, std::move(assignments)));
  }
  return step;
}

void Step::verify() const {
  for (const Program& program : programs) {
    std::vector<bool> known(graph->values.size());
    for (ValueId source : program.sources) known[source] = true;
    for (std::size_t p = 0; p < program.order.size(); ++p) {
      const Node& node = graph->nodes[program.order[p]];
      for (ValueId value : graph->inputs_of(node)) {
        if (!known[value]) throw InternalError(graph->where(program.order[p]) + " runs before what it reads");
      }
      for (std::uint32_t r = 0; r < node.values; ++r) known[node.first_value + r] = true;
      if (p > 0 && program.region[p] < program.region[p - 1]) throw InternalError("regions are out of order");
    }
    std::unordered_set<ValueId> written;
    for (const Program::Assignment& a : program.assignments) {
      if (!known[a.value] || !written.insert(a.variable).second) {
        throw InternalError("a variable is written twice, or by nothing");
      }
    }
    for (const Program::Fetch& fetch : program.fetches) {
      if (!known[fetch.value]) throw InternalError("fetch '" + fetch.name + "' is never computed");
    }
  }
}

std::string Step::dump() const {
  std::string out;
  for (const Program& program : programs) {
    out += "step '" + program.name + "'";
    if (program.batch_axis >= 0) {
      out += " batch axis '" + graph->axes[static_cast<std::size_t>(program.batch_axis)].name + "'";
    }
    out += "\n";
    for (std::size_t p = 0; p < program.order.size(); ++p) {
      const Node& node = graph->nodes[program.order[p]];
      out += "  " + std::string(name_of(program.region[p])) + " " + node.op.text();
      const std::string& path = graph->scopes[node.scope].path;
      if (!path.empty()) out += " at " + path;
      out += ": " + text_of(graph->input_types(node)) + " -> " + text_of(graph->result_types(node)) + "\n";
    }
    for (const Program::Assignment& a : program.assignments) {
      out += "  " + graph->where(graph->values[a.variable].node) + (a.in_place ? " in place" : " by copy") +
             "\n";
    }
    for (const Program::Fetch& fetch : program.fetches) {
      out += "  fetch '" + fetch.name + "' " + text_of(graph->values[fetch.value].type) + "\n";
    }
  }
  return out;
}

}  // namespace wafer::inline v0
