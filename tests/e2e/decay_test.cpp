// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Weight decay is for weights: not for biases, unless asked for.
#include "catch.hpp"

#include <wafer/wafer.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace wafer;
using Floats = std::vector<float>;

namespace {

// A bias of a user's own, within the layer of the library.
struct Shift {
  Tensor operator()(Tensor x) const {
    return x + parameter(x.graph(), "shift", {x.dim(-1)}, Init::constant(0.5)).without_decay();
  }
};

// What PyTorch 1.13 has after three steps on the mean of squares of Linear(3, 2).
Session trained(const Optimizer& optimizer, const Fabric& fabric = Fabric::host()) {
  Graph g;
  const Axis b = g.axis("batch", 4);
  const Tensor y = g.input("x", {b, 3}) | nn::Linear{2, "fc"};
  Session session{compile(minimize(mean(square(y)), optimizer), fabric)};
  session.set("fc.weight", Floats{0.5f, -1, 2, 0.25f, 1.5f, -0.75f});
  session.set("fc.bias", Floats{3, -2});
  const Floats x{1, 2, -1, 0.5f, -0.5f, 1, 2, 0, 0.25f, -1, 1, 3};
  for (int step = 0; step < 3; ++step) session.step({{"x", x}});
  return session;
}

void check_close(const Floats& got, const Floats& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= 2e-6f);
  }
}

// One optimizer for the head, another one for the rest: groups as a user writes them.
struct Groups {
  Optimizer head, rest;
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    std::vector<GradientOf> of_head, others;
    for (const GradientOf& of : gradients) (of.path.starts_with("head.") ? of_head : others).push_back(of);
    head.build(builder, of_head);
    rest.build(builder, others);
  }
};

}  // namespace

TEST_CASE("without a gradient weights shrink by the decay, and biases keep every bit") {
  Graph g;
  const Tensor x = g.input("x", {2, 3});
  const Tensor y =
      x | in_scope("block", nn::Sequential{nn::Linear{4, "fc1"}, Relu{}, nn::Linear{3, "fc2"}, Shift{}});
  const Tensor loss = sum(y) * g.constant(0);
  for (const Optimizer& optimizer : {Optimizer(AdamW{.lr = 0.1, .weight_decay = 0.1}),
                                     Optimizer(SGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1})}) {
    Session session{compile(minimize(loss, optimizer), Fabric::host())};
    std::vector<std::pair<std::string, Floats>> before;
    for (const VariableDescription& variable : session.variables()) {
      if (variable.trained) before.emplace_back(variable.path, session.get(variable.path));
    }
    session.step({{"x", Floats{1, 2, 3, -1, 0.5f, 0}}});
    int weights = 0, others = 0;
    for (const auto& [path, values] : before) {
      CAPTURE(path);
      Floats expected = values;
      const bool weight = path.ends_with(".weight");
      for (float& v : expected) v = weight ? v * 0.99f : v;
      if (weight) {
        check_close(session.get(path), expected);
      } else {
        CHECK(session.get(path) == expected);
      }
      ++(weight ? weights : others);
    }
    CHECK(weights == 2);
    CHECK(others == 3);  // two biases and the shift
  }
}

TEST_CASE("groups with and without decay make PyTorch's steps") {
  const Session adamw = trained(AdamW{.lr = 0.1, .weight_decay = 0.5});
  check_close(adamw.get("fc.weight"),
              {0.14548859f, -1.138129f, 1.4304893f, 0.301850975f, 1.00603867f, -0.359612256f});
  check_close(adamw.get("fc.bias"), {2.70125818f, -1.70118737f});
  const Session sgd = trained(SGD{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.5}, Fabric::mesh(2, 1));
  check_close(sgd.get("fc.weight"),
              {0.147394583f, -1.05979943f, -0.0257084742f, 0.248778582f, 1.11506581f, 0.226044595f});
  check_close(sgd.get("fc.bias"), {1.93196321f, -1.61963606f});
  const Session all = trained(AdamW{.lr = 0.1, .weight_decay = 0.5, .decayed = every_parameter});
  check_close(all.get("fc.weight"),
              {0.148871392f, -1.13253307f, 1.43080199f, 0.21038723f, 1.00291014f, -0.360207826f});
  check_close(all.get("fc.bias"), {2.28889942f, -1.43220675f});
}

TEST_CASE("groups of a user's own have optimizers of their own") {
  Graph g;
  const Tensor x = g.input("x", {2, 3});
  const Tensor y = x | nn::Linear{4, "body", false} | nn::Linear{2, "head", false};
  Session session{compile(minimize(mean(square(y)), Groups{SGD{.lr = 0}, AdamW{.lr = 0.1}}), Fabric::host())};
  const Floats head = session.get("head.weight"), body = session.get("body.weight");
  session.step({{"x", Floats{1, 2, 3, -1, 0.5f, 0}}});
  CHECK(session.get("head.weight") == head);
  CHECK(session.get("body.weight") != body);
  CHECK(session.variables().size() == 4);  // two weights, and two moments of one of them
}

TEST_CASE("only parameters can be without decay") {
  Graph g;
  const Tensor x = g.input("x", {2, 3});
  CHECK_THROWS_WITH(x.without_decay(), Catch::Matchers::ContainsSubstring("input 'x'"));
  CHECK_THROWS_WITH((x | Relu{}).without_decay(), Catch::Matchers::ContainsSubstring("wafer.relu"));
  CHECK_THROWS_AS(Tensor{}.without_decay(), UserError);
}
