// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Layers in containers, layers that share parameters, and batches of uneven parts train as they should.
#include "catch.hpp"

#include <wafer/wafer.hpp>

#include <string>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using Floats = std::vector<float>;

namespace {

// A user's layer that keeps others in a container.
struct Stack {
  std::vector<nn::Linear> layers;
  Tensor operator()(Tensor x) const {
    for (const nn::Linear& layer : layers) x = x | layer | Tanh{};
    return x;
  }
};

}  // namespace

TEST_CASE("layers in a container have parameters, which are all trained") {
  Graph g;
  const Tensor x = g.input("x", {2, 3});
  const Tensor y = x | in_scope("stack", Stack{{{4, "a"}, {5, "b"}, {2, "c"}}});
  Session session{compile(minimize(mean(square(y)), SGD{.lr = 0.1}), Fabric::host())};
  CHECK(session.variables().size() == 6);
  // 3·4 + 4 + 4·5 + 5 + 5·2 + 2
  CHECK_THAT(session.plan().text(), ContainsSubstring("parameters   53,"));
  std::vector<Floats> before;
  for (const VariableDescription& variable : session.variables())
    before.push_back(session.get(variable.path));
  session.step({{"x", Floats{1, 2, 3, -1, 0.5f, 0}}});
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(session.variables()[i].path);
    CHECK(session.get(session.variables()[i].path) != before[i]);
  }
}

TEST_CASE("a layer used twice has one set of parameters, one state, and the sum of both gradients") {
  Graph g;
  const Tensor x = g.input("x", {1, 1}), z = g.input("z", {1, 1});
  const auto layer = nn::Linear{1, "fc", false};
  const Tensor first = x | in_scope("tied", layer), second = z | reuse("tied", layer);
  Session session{compile(minimize(sum(first + second), SGD{.lr = 0.5, .momentum = 0.9}), Fabric::host())};
  const std::vector<VariableDescription> variables = session.variables();
  REQUIRE(variables.size() == 2);
  CHECK(variables[0].path == "tied.fc.weight");
  CHECK(variables[1].path == "optimizer.tied.fc.weight.m");
  session.set("tied.fc.weight", Floats{10});
  session.step({{"x", Floats{2}}, {"z", Floats{4}}});
  CHECK(session.get("tied.fc.weight") == Floats{10 - 0.5f * (2 + 4)});
  CHECK(session.get("optimizer.tied.fc.weight.m") == Floats{6});
}

TEST_CASE("the mean over a batch does not depend on how it falls into micro-batches and blocks") {
  // Losses of rows are 1, 1, 1 in the first part and 4 in the second: 7 / 4, not the mean of means.
  const auto train = [](const Fabric& fabric, Index micro_batches, bool cut) {
    Graph g;
    const Axis b = g.axis("batch", 6);
    const Tensor x = g.input("x", {b, 1});
    if (cut) x.split(b, Mesh::rows);
    const Tensor loss = mean(sum(x | nn::Linear{1, "fc", false}, {1}));
    Session session{
        compile(minimize(loss, SGD{.lr = 1}).fetch("loss", loss), fabric, {.micro_batches = micro_batches})};
    session.set("fc.weight", Floats{1});
    const double value = session.step({{"x", Floats{1, 1, 1, 4}}})["loss"].scalar();
    return std::pair{value, session.get("fc.weight").at(0)};
  };
  const std::pair expected{1.75, 1 - 1.75f};
  for (const Index micro_batches : {1, 2, 6}) {
    CHECK(train(Fabric::host(), micro_batches, false) == expected);
    CHECK(train(Fabric::mesh(2, 2), micro_batches, false) == expected);
  }
  CHECK(train(Fabric::mesh(2, 1), 1, true) == expected);
  CHECK(train(Fabric::mesh(2, 1), 3, true) == expected);
  CHECK(train(Fabric::mesh(4, 1), 1, true) ==
        expected);  // parts of 2, 2, 1 and 1 rows, of which four are fed
}
