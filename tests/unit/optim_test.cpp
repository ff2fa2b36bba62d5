// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/optim/optim.hpp>
#include <wafer/testing/interpreter.hpp>

#include "catch.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::Array;
using wafer::testing::Interpreter;
using Floats = std::vector<float>;

namespace {

Floats floats(Interpreter& interpreter, const Tensor& tensor) {
  const auto values = interpreter.value(tensor).values<float>();
  return {values.begin(), values.end()};
}

// One parameter "w" whose gradients are fed, trained for some steps.
class Training {
 public:
  Training(Optimizer optimizer, const Floats& start, double max_norm = 0)
      : w_(parameter(graph_, "w", {static_cast<Index>(start.size())}, Init::zeros())),
        gradient_(graph_.input("gradient", {start.size()})),
        builder_(graph_) {
    const std::vector<GradientOf> gradients{{"w", w_, gradient_}};
    if (max_norm > 0) builder_.set_scale(clip_scale(Tensors{gradient_}, max_norm));
    optimizer.build(builder_, gradients);
    for (const VariableInfo& variable : graph_.data()->variables) {
      values_[variable.path].assign(start.size(), static_cast<float>(variable.init.value));
    }
    values_["w"] = start;
  }

  const Floats& step(const Floats& gradient) {
    Interpreter interpreter(graph_, {.step = ++step_});
    interpreter.set(gradient_, Array(w_.shape(), gradient));
    for (const VariableInfo& variable : graph_.data()->variables) {
      interpreter.set(Tensor(graph_.data(), variable.value), Array(w_.shape(), values_[variable.path]));
    }
    for (const auto& [variable, value] : builder_.assignments()) {
      const Node& node = graph_.data()->nodes[graph_.data()->values[variable.value()].node];
      values_[graph_.data()->variables[node.source].path] = floats(interpreter, value);
    }
    return values_["w"];
  }

  const Floats& value(const std::string& path) const { return values_.at(path); }
  std::size_t variables() const { return values_.size(); }

 private:
  Graph graph_;
  Tensor w_, gradient_;
  UpdateBuilder builder_;
  std::map<std::string, Floats> values_;
  Index step_ = 0;
};

void check_close(const Floats& got, const Floats& expected, double relative = 1e-6) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], expected[i]);
    CHECK(std::abs(double{got[i]} - double{expected[i]}) <= relative * std::abs(double{expected[i]}));
  }
}

const Floats kStart{1, -0.5f, 0.25f, 2, -3};
const Floats kGradients[3] = {
    {0.1f, -0.2f, 0.3f, 0, 5}, {-0.4f, 0.1f, 0.2f, 1e-4f, -2}, {0.7f, 0, -0.6f, 1e-6f, 1}};

}  // namespace

// The numbers of these four come from PyTorch 1.13.
TEST_CASE("SGD makes PyTorch's steps") {
  Training training(SGD{.lr = 0.1}, kStart);
  check_close(training.step(kGradients[0]), {0.99000001f, -0.479999989f, 0.219999999f, 2, -3.5f});
  check_close(training.step(kGradients[1]),
              {1.02999997f, -0.48999998f, 0.200000003f, 1.99998999f, -3.29999995f});
  CHECK(training.variables() == 1);
}

TEST_CASE("SGD with momentum, decay and nesterov makes PyTorch's steps") {
  Training training(SGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true}, kStart);
  check_close(training.step(kGradients[0]),
              {0.971499979f, -0.457249999f, 0.190624997f, 1.98099995f, -3.92149997f});
  check_close(training.step(kGradients[1]),
              {1.02612078f, -0.453681111f, 0.125501558f, 1.95406139f, -3.89709568f});
  check_close(training.step(kGradients[2]),
              {0.900903046f, -0.439216763f, 0.198556021f, 1.92017651f, -4.22575617f});
  check_close(training.value("optimizer.w.m"),
              {0.556523561f, -0.135510311f, -0.152021855f, 0.267939061f, 2.75717759f});
}

TEST_CASE("AdamW makes PyTorch's steps") {
  Training training(AdamW{.lr = 0.01, .weight_decay = 0.1}, kStart);
  check_close(training.step(kGradients[0]),
              {0.989000022f, -0.489500016f, 0.239749998f, 1.99800003f, -3.00699997f});
  check_close(training.step(kGradients[1]),
              {0.993606091f, -0.486347139f, 0.229806736f, 1.98856175f, -3.00744915f});
  check_close(training.step(kGradients[2]),
              {0.989301622f, -0.483801991f, 0.231192574f, 1.98075843f, -3.00823569f});
  check_close(training.value("optimizer.w.m"),
              {0.0420999974f, -0.00720000034f, -0.0177000016f, 9.09999926e-06f, 0.324999988f});
  check_close(training.value("optimizer.w.v"),
              {0.000659820042f, 4.99100424e-05f, 0.000489780155f, 9.99100021e-12f, 0.0299460273f});
}

TEST_CASE("AdamW with other numbers makes PyTorch's steps") {
  Training training(AdamW{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0},
                    kStart);
  for (const Floats& gradient : kGradients) training.step(gradient);
  check_close(training.value("w"), {0.992307544f, -0.486394912f, 0.232909217f, 1.99916768f, -3.01638222f});
}

TEST_CASE("AdamW corrects its bias: the first step is the rate") {
  Training training(AdamW{.weight_decay = 0}, {1});
  check_close(training.step({0.1f}), {0.999f}, 1e-7);
}

TEST_CASE("AdamW's decay is decoupled from the gradient") {
  Training training(AdamW{.lr = 0.1, .weight_decay = 0.1}, {1});
  check_close(training.step({0}), {0.99f}, 1e-7);
}

TEST_CASE("what decays is chosen by a filter, which sees path, shape and what the layer says") {
  const std::string w = "w";
  const auto after_one_step = [&](const Optimizer& optimizer, bool decays) {
    Graph graph;
    const Tensor p = parameter(graph, w, {1}, Init::zeros()), g = graph.input("g", {1});
    UpdateBuilder builder(graph);
    const std::vector<GradientOf> gradients{{w, p, g, decays}};
    optimizer.build(builder, gradients);
    Interpreter interpreter(graph);
    interpreter.set(p, Array({1}, {1}));
    interpreter.set(g, Array({1}, {0}));
    return floats(interpreter, builder.assignments().at(0).value).at(0);
  };
  const auto by_path = [&](const GradientOf& of) { return of.path == w && of.value.rank() == 1; };
  const auto none = [](const GradientOf&) { return false; };
  CHECK(after_one_step(AdamW{.lr = 0.1, .weight_decay = 0.1}, true) == Approx(0.99f));
  CHECK(after_one_step(AdamW{.lr = 0.1, .weight_decay = 0.1}, false) == 1);
  CHECK(after_one_step(AdamW{.lr = 0.1, .weight_decay = 0.1, .decayed = every_parameter}, false) ==
        Approx(0.99f));
  CHECK(after_one_step(AdamW{.lr = 0.1, .weight_decay = 0.1, .decayed = by_path}, false) == Approx(0.99f));
  CHECK(after_one_step(AdamW{.lr = 0.1, .weight_decay = 0.1, .decayed = none}, true) == 1);
  CHECK(after_one_step(SGD{.lr = 0.1, .weight_decay = 0.1}, true) == Approx(0.99f));
  CHECK(after_one_step(SGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}, false) == 1);
  CHECK(after_one_step(SGD{.lr = 0.1, .weight_decay = 0.1, .decayed = every_parameter}, false) ==
        Approx(0.99f));
}

TEST_CASE("optimizers follow a schedule") {
  Training training(SGD{.lr = warmup(1, 4)}, {0});
  const float expected[] = {-0.25f, -0.75f, -1.5f, -2.5f, -3.5f};
  for (const float w : expected) CHECK(training.step({1}) == Floats{w});
}

TEST_CASE("clipping scales by the global norm as PyTorch does") {
  Graph graph;
  const Tensor a = graph.constant(Floats{3, 4}, {2}), b = graph.constant(Floats{0, 12, 0}, {1, 3});
  const Tensor norm = global_norm(Tensors{a, b});
  const Tensor fires = clip_scale(Tensors{a, b}, 1), rests = clip_scale(Tensors{a, b}, 13.5);
  CHECK(norm.type() == TensorType{DType::f64, {}});
  CHECK(fires.type() == TensorType{DType::f32, {}});
  Interpreter interpreter(graph);
  CHECK(interpreter.value(norm).values<double>()[0] == 13.0);
  CHECK(floats(interpreter, fires) == Floats{static_cast<float>(1 / (13 + 1e-6))});
  CHECK(floats(interpreter, rests) == Floats{1.0f});
}

TEST_CASE("clipping of gradients that are 0, infinite or not numbers") {
  const auto scale_of = [](float gradient) {
    Graph graph;
    const Tensor scale = clip_scale(Tensors{graph.constant(Floats{gradient, 1e-20f}, {2})}, 1);
    Interpreter interpreter(graph);
    return floats(interpreter, scale).at(0);
  };
  CHECK(scale_of(0) == 1.0f);
  CHECK(scale_of(HUGE_VALF) == 0.0f);
  CHECK(std::isnan(scale_of(std::nanf(""))));
  CHECK(scale_of(3e38f) == Approx(1 / 3e38));  // no overflow of the squares
  CHECK_THROWS_AS(clip_scale({}, 1), UserError);
}

TEST_CASE("a clipped step") {
  Training training(SGD{.lr = 1}, {0, 0}, 1.0);
  check_close(training.step({30, 40}), {-0.6f, -0.8f});
  check_close(training.step({0.3f, 0.4f}), {-0.9f, -1.2f});
}

TEST_CASE("rates and corrections are computed once for all parameters") {
  const auto ops_with = [](int parameters) {
    Graph graph;
    UpdateBuilder builder(graph);
    std::vector<GradientOf> gradients;
    for (int i = 0; i < parameters; ++i) {
      const std::string path = "p" + std::to_string(i);
      const Tensor p = parameter(graph, path, {2}, Init::zeros());
      gradients.push_back({path, p, graph.input(path, {2})});
    }
    AdamW{.lr = warmup_cosine(1e-3, 10, 100)}.build(builder, gradients);
    CHECK(builder.assignments().size() == 3 * gradients.size());
    std::size_t ops = 0;
    for (const Node& node : graph.data()->nodes) ops += node.kind == NodeKind::op ? 1 : 0;
    return ops;
  };
  CHECK(ops_with(9) == ops_with(1) + 8);
}

TEST_CASE("states are variables that are not trained, and belong to their path") {
  Graph graph;
  const Tensor w = parameter(graph, "fc.weight", {2, 3}, Init::zeros());
  const GradientOf of{"fc.weight", w, w};
  UpdateBuilder builder(graph), other(graph);
  const Tensor m = builder.state(of, "m", Init::constant(2));
  CHECK(m.type() == w.type());
  const VariableInfo& info = graph.data()->variables.back();
  CHECK(info.path == "optimizer.fc.weight.m");
  CHECK_FALSE(info.trained);
  CHECK(info.init.value == 2);
  CHECK(other.state(of, "m", Init::constant(2)).value() == m.value());  // another step shares it
  CHECK_THROWS_AS(other.state(of, "m"), UserError);
  parameter(graph, "optimizer.fc.weight.v", {2, 3}, Init::zeros());
  CHECK_THROWS_WITH(builder.state(of, "v"), ContainsSubstring("'optimizer.fc.weight.v'"));
}

TEST_CASE("a variable is assigned once, by its own type") {
  Graph graph;
  const Tensor w = parameter(graph, "w", {2}, Init::zeros()),
               other = parameter(graph, "v", {3}, Init::zeros());
  const Tensor value = graph.input("value", {2});
  UpdateBuilder builder(graph);
  builder.assign(w, value);
  REQUIRE(builder.assignments().size() == 1);
  CHECK(builder.assignments()[0].value.value() == value.value());
  CHECK_THROWS_WITH(builder.assign(w, value), ContainsSubstring("parameter 'w'"));
  CHECK_THROWS_WITH(builder.assign(other, value), ContainsSubstring("expected f32[3], got f32[2]"));
  CHECK_THROWS_AS(builder.assign(value, value), UserError);
  CHECK_THROWS_AS(builder.assign(other, Tensor{}), UserError);
}

TEST_CASE("optimizers refuse numbers out of range") {
  Graph graph;
  const Tensor w = parameter(graph, "w", {2}, Init::zeros());
  const std::vector<GradientOf> gradients{{"w", w, w}};
  const auto build = [&](const Optimizer& optimizer) {
    UpdateBuilder builder(graph);
    optimizer.build(builder, gradients);
  };
  CHECK_NOTHROW(build(SGD{.momentum = 0.9}));
  CHECK_THROWS_AS(build(SGD{.lr = -1}), UserError);
  CHECK_THROWS_AS(build(SGD{.momentum = -0.1}), UserError);
  CHECK_THROWS_AS(build(SGD{.weight_decay = std::nan("")}), UserError);
  CHECK_THROWS_AS(build(SGD{.nesterov = true}), UserError);
  CHECK_THROWS_AS(build(AdamW{.beta1 = 1}), UserError);
  CHECK_THROWS_AS(build(AdamW{.beta2 = -0.1}), UserError);
  CHECK_THROWS_AS(build(AdamW{.epsilon = -1}), UserError);
  CHECK_THROWS_AS(build(AdamW{.weight_decay = -1}), UserError);
  CHECK_THROWS_AS(build(AdamW{.lr = HUGE_VAL}), UserError);
}

TEST_CASE("an optimizer of one's own is any struct with build") {
  struct Sign {
    void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
      for (const GradientOf& of : gradients) builder.assign(of.value, of.gradient);
    }
  };
  Training training(Sign{}, {5, 6});
  CHECK(training.step({1, 2}) == Floats{1, 2});
}

TEST_CASE("requests record what a step does") {
  Graph graph;
  const Tensor loss = graph.constant(1), other = graph.constant(2);
  const Request train = minimize(loss, SGD{}).clip_norm(1.5).fetch("loss", loss);
  CHECK(train.loss.value() == loss.value());
  CHECK(train.optimizer.has_value());
  CHECK(train.max_norm == 1.5);
  REQUIRE(train.fetches.size() == 1);
  const Request more = train.fetch("other", other);
  REQUIRE(more.fetches.size() == 2);
  CHECK(more.fetches[1].name == "other");
  CHECK(more.fetches[1].tensor.value() == other.value());
  CHECK(train.fetches.size() == 1);
  const Request eval = fetch("loss", loss);
  CHECK_FALSE(eval.loss);
  CHECK_FALSE(eval.optimizer.has_value());
}

TEST_CASE("requests refuse what no step can do") {
  Graph graph, another;
  const Tensor loss = graph.constant(1), stranger = another.constant(1);
  CHECK_THROWS_AS(minimize(Tensor{}, SGD{}), UserError);
  CHECK_THROWS_WITH(minimize(graph.constant(Floats{1, 2}, {2}), SGD{}), ContainsSubstring("got f32[2]"));
  CHECK_THROWS_AS(minimize(graph.constant(1, DType::f64), SGD{}), UserError);
  CHECK_THROWS_AS(fetch("", loss), UserError);
  CHECK_THROWS_WITH(fetch("x", Tensor{}), ContainsSubstring("'x'"));
  CHECK_THROWS_AS(fetch("x", loss).fetch("x", loss), UserError);
  CHECK_THROWS_AS(fetch("x", loss).fetch("y", stranger), UserError);
  CHECK_THROWS_AS(minimize(loss, SGD{}).fetch("y", stranger), UserError);
  CHECK_THROWS_AS(minimize(loss, SGD{}).clip_norm(0), UserError);
  CHECK_THROWS_AS(minimize(loss, SGD{}).clip_norm(std::nan("")), UserError);
  CHECK_THROWS_AS(fetch("x", loss).clip_norm(1), UserError);
}
