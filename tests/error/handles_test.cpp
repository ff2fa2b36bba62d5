// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <limits>
#include <utility>

using namespace error_test;

TEST_CASE("what was moved from is still a handle") {
  Graph graph;
  Graph moved = std::move(graph);
  const Tensor x = graph.input("x", {2});  // NOLINT(bugprone-use-after-move)
  CHECK(graph.data() == moved.data());
  Executable executable = compile(fetch("y", relu(x)), Fabric::host());
  Executable kept = std::move(executable);
  Plan plan = executable.plan();  // NOLINT(bugprone-use-after-move)
  const Plan other = std::move(plan);
  CHECK(plan.text() == other.text());  // NOLINT(bugprone-use-after-move)
  Session session{kept};
  const Session same = std::move(session);
  const std::vector<float> values{-1, 2};
  CHECK(session.step({{"x", values}})["y"].values<float>()[1] == 2);  // NOLINT(bugprone-use-after-move)
  CHECK(same.state() == session.state());
}

TEST_CASE("an axis that the graph did not make") {
  Graph g, other;
  const Axis batch = g.axis("batch", 4);
  const Axis foreign = other.axis("rows", 1000);
  const Tensor x = g.input("x", {batch, 3});
  expect_message<UserError>(
      [&] {
        g.input("a", {foreign, 3});
      },
      {"input 'a'", "axis of this graph", "'rows'"});
  expect_message<UserError>([&] { g.input("a", {Axis{}, 3}); }, {"input 'a'", "axis of this graph"});
  expect_message<UserError>([&] { g.input("a", {Axis{"batch", 40, 0}, 3}); }, {"input 'a'", "'batch'"});
  expect_message<UserError>([&] { x.split(foreign, Mesh::rows); }, {"split", "'rows'"});
  CHECK(g.input("a", {batch, 3}).shape() == Shape{4, 3});
}

TEST_CASE("names that are empty, and numbers that are none") {
  Graph g;
  const Tensor x = g.input("x", {4, 3});
  expect_message<UserError>([&] { g.axis("", 4); }, {"axis", "a name", "none"});
  expect_message<UserError>([&] { x | nn::Linear{4, ""}; }, {"linear: ", "a name", "none"});
  expect_message<UserError>([&] { x | in_scope("enc", nn::Linear{4, ""}); }, {"linear at 'enc': ", "a name"});
  expect_message<UserError>([&] { x | in_scope("", Relu{}); }, {"scope: ", "a name"});
  expect_message<UserError>([&] { g.input("", {4}); }, {"input", "a name", "none"});
  expect_message<UserError>([&] { x.split(0, static_cast<Mesh>(9)); }, {"split", "Mesh::rows", "9"});
  expect_message<UserError>([&] { g.constant(1, static_cast<DType>(77)); }, {"constant", "77"});
  expect_message<UserError>([&] { cast(x, static_cast<DType>(77)); }, {"wafer.cast", "?[4, 3]"});
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Init init :
       {Init::uniform(infinite), Init::constant(1e39), Init{static_cast<Init::Kind>(9), 1}}) {
    expect_message<UserError>([&] { parameter(g, "w", {3}, init); }, {"parameter 'w'", "initial value"});
  }
}

TEST_CASE("requests filled in by hand keep the promises of minimize, fetch and clip_norm") {
  const Network network;
  const auto refuse = [&](Request request, const std::vector<std::string>& parts) {
    expect_message<UserError>([&] { compile({{"train", request}}, Fabric::host()); }, parts);
  };
  const Request good = minimize(network.loss, SGD{});
  Request request;
  request.loss = network.loss;
  refuse(request, {"step 'train'", "loss together with an optimizer"});
  request = good;
  request.loss = network.logits;
  refuse(request, {"step 'train'", "scalar of f32", "f32[4, 3]"});
  request = good;
  request.max_norm = std::numeric_limits<double>::quiet_NaN();
  refuse(request, {"step 'train'", "clip_norm", "nan"});
  request = good;
  request.fetches.push_back({"", network.loss});
  refuse(request, {"step 'train'", "a name for each fetch"});
}

/// Assigns nothing, or a state without a name.
struct Idle {
  bool unnamed_state = false;
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    if (unnamed_state) builder.state(gradients[0], "");
  }
};

TEST_CASE("optimizers that do nothing, or keep a state without a name") {
  const Network network;
  expect_message<UserError>([&] { compile(minimize(network.loss, Idle{}), Fabric::host()); },
                            {"minimize", "assigns variables"});
  expect_message<UserError>([&] { compile(minimize(network.loss, Idle{true}), Fabric::host()); },
                            {"optimizer state of 'fc1.weight'", "a name"});
}

TEST_CASE("an axis number of no axis is found when it runs") {
  Graph g;
  g.axis("batch", 4);
  Session session{compile(fetch("n", apply(AxisExtent{7, 1}, g).at(0)), Fabric::host())};
  expect_message<RunError>([&] { session.step({}); }, {"wafer.axis_extent", "axis of the graph", "7"});
}

TEST_CASE("a fabric that cannot be") {
  const Network network;
  const auto refuse = [&](auto&& change, const std::string& part) {
    Fabric fabric = Fabric::mesh(2, 2);
    change(fabric);
    expect_message<UserError>([&] { compile(network.requests(), fabric); }, {part});
  };
  refuse([](Fabric& f) { f.rows = 0; }, "0 x 2");
  refuse([](Fabric& f) { f.rows = f.columns = Index{1} << 40; }, "does not fit");
  refuse([](Fabric& f) { f.shared_memory = true; }, "one block on a host");
  refuse([](Fabric& f) { f.sram = 0; }, "SRAM");
  refuse([](Fabric& f) { f.fast_memory = 0; }, "fast_memory");
  refuse([](Fabric& f) { f.cache = 0; }, "cache");
  refuse([](Fabric& f) { f.far_rate = 0; }, "rates");
  refuse([](Fabric& f) { f.flops = std::numeric_limits<double>::quiet_NaN(); }, "rates");
  refuse([](Fabric& f) { f.link_rate = 0; }, "rates");
  refuse([](Fabric& f) { f.hop = -1; }, "times");
  Fabric host = Fabric::host();
  host.sram = -1;
  expect_message<UserError>([&] { compile(network.requests(), host); }, {"host", "SRAM", "-1"});
}

TEST_CASE("sizes near 2^63 are refused, on a host and on a mesh") {
  Graph g;
  const Tensor y = relu(g.input("x", {Index{1} << 60}));
  expect_message<UserError>([&] { compile(fetch("y", y), Fabric::host()); }, {"does not fit into 63 bits"});
  CHECK_THROWS_AS(compile(fetch("y", y), Fabric::mesh(2, 2)), Error);
}
