// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph_algorithms.hpp"

#include <wafer/compiler/step.hpp>
#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>
#include <wafer/ops/add.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kWayShown = 5;  // ops at each end of a way that is too long to show

// Restores the graph's scope: gradients carry the layer path of the op they belong to.
class ScopeRestorer {
 public:
  explicit ScopeRestorer(GraphData& graph) : graph_(graph), scope_(graph.scope) {}
  ~ScopeRestorer() { graph_.scope = scope_; }
  ScopeRestorer(const ScopeRestorer&) = delete;
  ScopeRestorer& operator=(const ScopeRestorer&) = delete;

 private:
  GraphData& graph_;
  std::uint32_t scope_;
};

// Reverse-mode differentiation of one scalar.
class Autodiff {
 public:
  Autodiff(const Tensor& loss, std::span<const Tensor> values)
      : shared_(loss.data()),
        graph_(*shared_),
        contributions_(graph_.values.size()),
        through_(graph_.values.size(), kNone),
        wanted_(graph_.values.size()) {
    order_ = walk(graph_, std::vector<ValueId>{loss.value()});
    for (const Tensor& value : values) wanted_[value.value()] = true;
    mark_dependents();
    contributions_[loss.value()].push_back(Graph(shared_).constant(1.0));
  }

  void run() {
    ScopeRestorer restorer(graph_);
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (graph_.nodes[*at].kind == NodeKind::op) differentiate(*at);
    }
  }

  // The op that the first of the ends belongs to, and the way through it.
  std::string stop() const {
    return graph_.where(stopped_) + ", which passes none on; the way: " + text_of(way_through(stopped_));
  }

  // Joins the contributions to a value in order of use. They were found from the last use to the first.
  Tensor cotangent(ValueId value) {
    std::vector<Tensor>& parts = contributions_[value];
    if (parts.empty()) return {};
    Tensor sum = parts.back();
    for (auto part = parts.rbegin() + 1; part != parts.rend(); ++part) sum = add(sum, *part);
    parts.assign(1, sum);
    return sum;
  }

 private:
  void mark_dependents() {
    for (NodeId id : order_) {
      const Node& node = graph_.nodes[id];
      const auto inputs = graph_.inputs_of(node);
      const bool any = std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) { return wanted_[v]; });
      for (std::uint32_t r = 0; any && r < node.values; ++r) wanted_[node.first_value + r] = true;
    }
  }

  void differentiate(NodeId id) {
    const std::uint32_t values = graph_.nodes[id].values;
    const ValueId first = graph_.nodes[id].first_value;
    bool reached = false;
    Tensors outputs, cotangents;
    for (std::uint32_t r = 0; r < values; ++r) {
      reached = reached || (wanted_[first + r] && !contributions_[first + r].empty());
    }
    if (!reached) return;
    graph_.scope = graph_.nodes[id].scope;
    for (std::uint32_t r = 0; r < values; ++r) {
      outputs.emplace_back(shared_, first + r);
      cotangents.push_back(cotangent(first + r));
    }
    const OpHandle op = graph_.nodes[id].op;  // a copy: nodes move while gradients are added
    if (!op.model().gradient) {
      throw UserError(graph_.where(id) +
                      ": expected an op with a gradient on the way from the loss to the parameters, "
                      "got one without; the way: " +
                      text_of(way_to_loss(id)));
    }
    Tensors inputs;
    for (ValueId value : graph_.inputs_of(graph_.nodes[id])) inputs.emplace_back(shared_, value);
    const Gradients gradients = op.model().gradient(op.get(), inputs, outputs, cotangents);
    if (gradients.size() != inputs.size()) {
      throw UserError(graph_.where(id) + ": expected a gradient (or an empty one) for each of " +
                      std::to_string(inputs.size()) + " inputs, got " + std::to_string(gradients.size()));
    }
    bool passed = false;
    for (std::size_t i = inputs.size(); i-- > 0;) {
      passed = contribute(id, inputs[i], gradients[i]) || passed;
    }
    if (!passed && stopped_ == kNone) stopped_ = id;
  }

  bool contribute(NodeId id, const Tensor& input, const Tensor& gradient) {
    if (!gradient || !wanted_[input.value()]) return false;
    if (gradient.type() != input.type()) {
      throw UserError(graph_.where(id) + ": expected a gradient of " + wafer::text_of(input.type()) +
                      ", got " + wafer::text_of(gradient.type()));
    }
    contributions_[input.value()].push_back(gradient);
    through_[input.value()] = id;
    return true;
  }

  // From a value asked for to the loss, through an op that cotangents reached.
  std::vector<NodeId> way_through(NodeId id) const {
    std::vector<NodeId> way{id};
    while (graph_.nodes[way.front()].kind == NodeKind::op) {
      const auto inputs = graph_.inputs_of(graph_.nodes[way.front()]);
      const auto next = std::find_if(inputs.begin(), inputs.end(), [&](ValueId v) { return wanted_[v]; });
      if (next == inputs.end()) break;
      way.insert(way.begin(), graph_.values[*next].node);
    }
    const std::vector<NodeId> rest = way_to_loss(id);
    way.insert(way.end(), rest.begin() + 1, rest.end());
    return way;
  }

  std::vector<NodeId> way_to_loss(NodeId id) const {
    std::vector<NodeId> way{id};
    for (;;) {
      const Node& node = graph_.nodes[way.back()];
      NodeId next = kNone;
      for (std::uint32_t r = 0; r < node.values && next == kNone; ++r) next = through_[node.first_value + r];
      if (next == kNone) break;
      way.push_back(next);
    }
    return way;
  }

  // "op 'wafer.round' at 'fc1' -> op 'wafer.mul' -> loss", the middle left out where there are many.
  std::string text_of(const std::vector<NodeId>& way) const {
    std::string out;
    for (std::size_t i = 0; i < way.size(); ++i) {
      if (i == kWayShown && way.size() > 2 * kWayShown) {
        i = way.size() - kWayShown;
        out += "(" + std::to_string(i - kWayShown) + " more ops) -> ";
      }
      out += graph_.where(way[i]) + " -> ";
    }
    return out + "loss";
  }

  std::shared_ptr<GraphData> shared_;
  GraphData& graph_;
  std::vector<NodeId> order_;
  std::vector<std::vector<Tensor>> contributions_;  // of each value, from the last use to the first
  std::vector<NodeId> through_;                     // the op that brought the last of them
  NodeId stopped_ = kNone;                          // the first op that passed nothing on
  std::vector<bool> wanted_;                        // values on the way to those asked for
};

}  // namespace

Tensors gradients_of(const Tensor& loss, std::span<const Tensor> values) {
  Autodiff autodiff(loss, values);
  autodiff.run();
  Tensors out;
  for (const Tensor& value : values) out.push_back(autodiff.cotangent(value.value()));
  return out;
}

std::string stop_of_gradients(const Tensor& loss, std::span<const Tensor> values) {
  Autodiff autodiff(loss, values);
  autodiff.run();
  return autodiff.stop();
}

std::vector<NodeId> walk(const GraphData& graph, std::span<const ValueId> roots) {
  std::vector<NodeId> nodes;
  for (ValueId root : roots) nodes.push_back(graph.values[root].node);
  return algorithms::depends_on(graph, nodes);
}

}  // namespace wafer::inline v0
