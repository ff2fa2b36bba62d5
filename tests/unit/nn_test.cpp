// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/initialize.hpp"

#include <wafer/error.hpp>
#include <wafer/nn/nn.hpp>
#include <wafer/ops/relu.hpp>
#include <wafer/testing/interpreter.hpp>

#include "catch.hpp"

#include <cmath>
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

const VariableInfo& variable(const Graph& graph, const std::string& path) {
  for (const VariableInfo& info : graph.data()->variables) {
    if (info.path == path) return info;
  }
  throw UserError("no parameter '" + path + "'");
}

Shape shape_of(const Graph& graph, const std::string& path) {
  return graph.data()->values[variable(graph, path).value].type.shape;
}

Floats initial(const Init& init, std::string_view path, std::uint64_t seed, Index first, std::size_t count) {
  Floats out(count, -77);
  initialize(init, path, seed, first, out);
  return out;
}

}  // namespace

TEST_CASE("linear multiplies by the transposed weight and adds the bias") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3});
  const Tensor y = x | nn::Linear{2, "fc"};
  CHECK(y.type() == TensorType{DType::f32, {2, 2}});
  Interpreter interpreter(graph);
  interpreter.set(x, Array({2, 3}, {1, 2, 3, 4, 5, 6}));
  interpreter.set(Tensor(graph.data(), variable(graph, "fc.weight").value),
                  Array({2, 3}, {1, 0, -1, 0.5f, 2, 0}));
  interpreter.set(Tensor(graph.data(), variable(graph, "fc.bias").value), Array({2}, {10, 20}));
  CHECK(floats(interpreter, y) == Floats{8, 24.5f, 8, 32});
}

TEST_CASE("linear has PyTorch's names, layouts and initial values") {
  Graph graph;
  const Axis batch = graph.axis("batch", 128);
  const Tensor image = graph.input("image", {batch, 784});
  image | nn::Linear{512, "fc1"} | in_scope("head", nn::Linear{10, "out", false});
  CHECK(graph.data()->variables.size() == 3);
  CHECK(shape_of(graph, "fc1.weight") == Shape{512, 784});
  CHECK(shape_of(graph, "fc1.bias") == Shape{512});
  CHECK(shape_of(graph, "head.out.weight") == Shape{10, 512});
  for (const char* path : {"fc1.weight", "fc1.bias"}) {
    CHECK(variable(graph, path).trained);
    CHECK(variable(graph, path).init.kind == Init::Kind::uniform);
    CHECK(variable(graph, path).init.value == Approx(1.0 / 28));  // 784 = 28²
  }
}

TEST_CASE("linear takes tensors of higher rank, and nothing at all") {
  Graph graph;
  CHECK((graph.input("x", {2, 5, 3}) | nn::Linear{4, "a"}).shape() == Shape{2, 5, 4});
  CHECK((graph.input("y", {2, 0}) | nn::Linear{4, "b"}).shape() == Shape{2, 4});
  CHECK(variable(graph, "b.bias").init.value == 0);
}

TEST_CASE("linear names where it stands and what it expects") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3});
  const Tensor label = graph.input("label", {2, 3}, DType::i32);
  CHECK_THROWS_WITH(label | in_scope("enc", nn::Linear{4, "fc1"}), ContainsSubstring("'enc.fc1'"));
  CHECK_THROWS_AS((graph.constant(1) | nn::Linear{4, "a"}), UserError);
  CHECK_THROWS_AS((x | nn::Linear{-1, "b"}), UserError);
  CHECK_THROWS_AS((x | nn::Linear{4, ""}), UserError);
  x | nn::Linear{4, "c"};
  CHECK_THROWS_WITH((x | nn::Linear{4, "c"}), ContainsSubstring("'c.weight'"));
}

TEST_CASE("reuse builds a layer on the parameters that are there") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3}), y = graph.input("y", {7, 3});
  x | in_scope("block", nn::Linear{4, "fc"});
  const std::size_t parameters = graph.data()->variables.size();
  CHECK((y | reuse("block", nn::Linear{4, "fc"})).shape() == Shape{7, 4});
  CHECK(graph.data()->variables.size() == parameters);
}

TEST_CASE("residual adds what it was given, and nests") {
  Graph graph;
  const Tensor x = graph.input("x", {2});
  const auto twice = [](Tensor t) { return t | nn::Residual{[](Tensor u) { return u; }}; };
  const Tensor a = x | nn::Residual{twice};                 // x + 2x
  const Tensor b = x | nn::Residual{nn::Residual{Relu{}}};  // x + (x + relu(x))
  const auto block =
      nn::Residual{nn::Residual{nn::Residual{in_scope("s", Relu{})}}};  // x + (x + (x + relu(x)))
  auto again = block;
  const Tensor c = x | again;
  Interpreter interpreter(graph);
  interpreter.set(x, Array({2}, {1, -1}));
  CHECK(floats(interpreter, a) == Floats{3, -3});
  CHECK(floats(interpreter, b) == Floats{3, -2});
  CHECK(floats(interpreter, c) == Floats{4, -3});
  static_assert(
      std::is_same_v<decltype(nn::Residual{nn::Residual{Relu{}}}), nn::Residual<nn::Residual<Relu>>>);
  static_assert(std::is_same_v<std::remove_const_t<decltype(block)>,
                               nn::Residual<nn::Residual<nn::Residual<Scoped<Relu>>>>>);
}

TEST_CASE("residual refuses a layer that gives another type") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3});
  CHECK_THROWS_WITH(
      x | in_scope("block", nn::Residual{nn::Linear{1, "fc"}}),
      ContainsSubstring("'block'") && ContainsSubstring("f32[2, 3]") && ContainsSubstring("f32[2, 1]"));
}

TEST_CASE("sequential is a pipe as a layer") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3});
  const nn::Sequential mlp{nn::Linear{5, "fc1"}, Relu{}, nn::Linear{3, "fc2"}};
  CHECK((x | mlp).shape() == Shape{2, 3});
  CHECK(shape_of(graph, "fc2.weight") == Shape{3, 5});
  CHECK((x | in_scope("block", nn::Residual{mlp})).shape() == Shape{2, 3});
  CHECK(shape_of(graph, "block.fc1.weight") == Shape{5, 3});
  CHECK((x | nn::Sequential{}).value() == x.value());
}

TEST_CASE("layers and pipes that are const apply as others do") {
  Graph graph;
  const Tensor x = graph.input("x", {2, 3}), y = graph.input("y", {5, 3});
  const auto linear = nn::Linear{3, "fc"};
  const auto block = in_scope("block", linear);
  const auto deep = nn::Residual{nn::Sequential{in_scope("deep", in_scope("a", linear)), Relu{}, relu}};
  const auto lambda = [](Tensor t) { return t | Relu{}; };
  const auto op = Relu{};
  CHECK((x | block | deep | in_scope("last", lambda) | op).shape() == Shape{2, 3});
  CHECK(shape_of(graph, "block.fc.weight") == Shape{3, 3});
  CHECK(shape_of(graph, "deep.a.fc.weight") == Shape{3, 3});
  // Once more is a path that is there, unless the parameters are to be shared.
  CHECK_THROWS_WITH(x | block, ContainsSubstring("'block.fc.weight'"));
  const auto again = reuse("block", linear);
  const std::size_t parameters = graph.data()->variables.size();
  CHECK((y | again | again).shape() == Shape{5, 3});
  CHECK(graph.data()->variables.size() == parameters);
  // A layer may have a state of its own as long as it is not const.
  int calls = 0;
  const auto counted = [n = 0, &calls](Tensor t) mutable { return calls = ++n, t; };
  CHECK((x | in_scope("counted", counted)).shape() == Shape{2, 3});
  CHECK(calls == 1);
}

TEST_CASE("initial values are constants, or uniform within their bound") {
  CHECK(initial(Init::zeros(), "w", 1, 0, 3) == Floats{0, 0, 0});
  CHECK(initial(Init::constant(0.1), "w", 1, 5, 2) == Floats{0.1f, 0.1f});
  CHECK(initial(Init::uniform(1), "w", 1, 0, 0).empty());
  const double bound = 1.0 / 28;
  const Floats values = initial(Init::uniform(bound), "fc1.weight", 3, 0, 100'000);
  double sum = 0, squares = 0, least = 0, greatest = 0;
  for (const float value : values) {
    sum += double{value};
    squares += double{value} * double{value};
    least = std::min(least, double{value});
    greatest = std::max(greatest, double{value});
  }
  const double n = 100'000, deviation = bound / std::sqrt(3);
  CHECK(std::abs(sum / n) < 5 * deviation / std::sqrt(n));
  CHECK(std::sqrt(squares / n) == Approx(deviation).epsilon(0.01));
  CHECK(least >= -double{static_cast<float>(bound)});
  CHECK(least < -0.999 * bound);
  CHECK(greatest <= double{static_cast<float>(bound)});
  CHECK(greatest > 0.999 * bound);
}

TEST_CASE("initial values depend on path, seed and element alone") {
  const Init init = Init::uniform(0.5);
  const Floats all = initial(init, "a.weight", 7, 0, 1000);
  for (const Index first : {0, 1, 2, 3, 500, 997}) {
    const Floats piece = initial(init, "a.weight", 7, first, 3);
    CHECK(piece == Floats(all.begin() + first, all.begin() + first + 3));
  }
  CHECK(initial(init, "a.weight", 7, 0, 1000) == all);
  CHECK(initial(init, "a.bias", 7, 0, 1000) != all);
  CHECK(initial(init, "a.weight", 8, 0, 1000) != all);
}
