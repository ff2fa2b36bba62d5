// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "generator.hpp"

#include "builder.hpp"

#include <wafer/ops.hpp>
#include <wafer/optim/optim.hpp>

#include <algorithm>

namespace fuzz {

using namespace wafer;

namespace {

// A scalar that depends on some of the graph's last values: what gradients are taken of.
Tensor random_loss(Builder& build, Random& random) {
  Tensor loss;
  for (Index n = random.between(1, 3); n > 0; --n) {
    Entry e = build.recent();
    if (build.is_logits(e) && random.chance(0.5)) {
      e.tensor = cross_entropy(e.tensor, build.labels_for(e.tensor));
    } else if (e.tensor.rank() > 0) {
      // A mean of nothing is NaN, and so would be all gradients.
      e.tensor = e.tensor.shape().size() == 0 || random.chance(0.3) ? sum(e.tensor) : mean(e.tensor);
    }
    loss = loss ? loss + e.tensor : e.tensor;
  }
  return loss;
}

// Whether a gradient reaches a parameter: an argmax on the way lets none pass.
bool trains(const Tensor& loss) {
  const std::shared_ptr<GraphData>& graph = loss.data();
  std::vector<Tensor> parameters;
  for (NodeId id : walk(*graph, std::vector<ValueId>{loss.value()})) {
    if (graph->nodes[id].kind == NodeKind::variable)
      parameters.emplace_back(graph, graph->nodes[id].first_value);
  }
  const Tensors gradients = gradients_of(loss, parameters);
  return std::any_of(gradients.begin(), gradients.end(),
                     [](const Tensor& g) { return static_cast<bool>(g); });
}

Optimizer random_optimizer(Random& random) {
  if (random.chance(0.5)) {
    SGD sgd{.lr = 0.05};
    if (random.chance(0.7)) sgd.momentum = 0.9;
    if (random.chance(0.3)) sgd.weight_decay = 0.01;
    sgd.nesterov = sgd.momentum > 0 && random.chance(0.3);
    return sgd;
  }
  AdamW adamw;
  if (random.chance(0.5)) adamw.lr = warmup_cosine(1e-2, 2, 10);
  return adamw;
}

// Some of all values, under names of their own.
Request add_fetches(Request request, const std::vector<Tensor>& of, Random& random, double share) {
  for (const Tensor& t : of) {
    if (random.chance(share)) request = std::move(request).fetch("v" + std::to_string(t.value()), t);
  }
  return request;
}

}  // namespace

std::string text_of(const Graph& graph) {
  const GraphData& data = *graph.data();
  const auto value = [&](ValueId id) {
    const Value& v = data.values[id];
    std::string text = "v" + std::to_string(id) + " " + std::string(name_of(v.type.dtype)) + "[";
    for (int d = 0; d < v.type.shape.rank(); ++d) {
      text += (d > 0 ? " " : "") + std::to_string(v.type.shape[d]);
      if (v.axes[static_cast<std::size_t>(d)] >= 0) text += "*";
    }
    return text + "]";
  };
  std::string out;
  for (NodeId id = 0; id < data.nodes.size(); ++id) {
    const Node& node = data.nodes[id];
    out += "  " + (node.kind == NodeKind::op ? node.op.text() : data.where(id)) + ":";
    for (ValueId input : data.inputs_of(node)) out += " " + value(input);
    out += " ->";
    for (std::uint32_t r = 0; r < node.values; ++r) out += " " + value(node.first_value + r);
    out += "\n";
  }
  return out;
}

void generate(Random& random, Generated& out) {
  static const std::vector<std::size_t> axes{0, 1, 1, 1, 1, 2, 2, 3};
  static const std::vector<std::string> names{"batch", "time", "place"};
  for (std::size_t n = random.pick(axes), a = 0; a < n; ++a)
    out.axes.push_back(out.graph.axis(names[a], random.pick(kPositiveExtents)));
  Builder build(out, random);
  build.sources();
  build.ops(random.between(5, 60));

  const double kind = random.uniform(0, 1);
  std::vector<Tensor> values = build.results();
  Request request;
  if (kind > 0.35) {
    const Tensor loss = random_loss(build, random);
    values.push_back(loss);
    if (kind > 0.65 && trains(loss)) {
      request = minimize(loss, random_optimizer(random));
      if (random.chance(0.4)) request = std::move(request).clip_norm(random.uniform(0.1, 2));
      out.gradients = true;
    } else if (loss.dtype() == DType::f32) {
      std::vector<Tensor> wanted;
      for (const Tensor& t : build.differentiable()) {
        if (wanted.size() < 8 || random.chance(0.2)) wanted.push_back(t);
      }
      for (const Tensor& gradient : gradients_of(loss, wanted)) {
        if (!gradient) continue;
        values.push_back(gradient);
        out.gradients = true;
      }
    }
  }
  const double share = random.chance(0.3) ? 1 : random.uniform(0.1, 0.6);
  std::sort(values.begin(), values.end(),
            [](const Tensor& a, const Tensor& b) { return a.value() < b.value(); });
  values.erase(std::unique(values.begin(), values.end(),
                           [](const Tensor& a, const Tensor& b) { return a.value() == b.value(); }),
               values.end());
  request = add_fetches(std::move(request), values, random, share);
  if (request.fetches.empty()) request = std::move(request).fetch("last", values.back());
  if (request.loss && random.chance(0.3)) {
    Request other = add_fetches({}, build.results(), random, 0.2);
    if (!other.fetches.empty()) out.requests.push_back({"eval", std::move(other)});
  }
  out.requests.insert(out.requests.begin(), {"main", std::move(request)});
}

}  // namespace fuzz
