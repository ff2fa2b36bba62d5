// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

using namespace error_test;

/// Rounds; it has no gradient.
struct Round {
  static constexpr std::string_view name = "test.round";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles, Tiles) const {}
};

namespace one {
/// The first of two types under one name.
struct Same {
  static constexpr std::string_view name = "test.same";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles, Tiles) const {}
};
}  // namespace one
namespace two {
/// The second.
struct Same {
  static constexpr std::string_view name = "test.same";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles, Tiles) const {}
};
}  // namespace two

/// Declares other results than its axes rule has.
struct Contradiction {
  static constexpr std::string_view name = "test.contradiction";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return {in.at(0), in.at(0)}; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles, Tiles) const {}
};

TEST_CASE("shapes, ranks and dtypes that do not fit name op, path, expected and got") {
  Graph g;
  const Tensor x = g.input("x", {16, 127});
  const Tensor ids = g.input("ids", {16}, DType::i32);
  const Tensor w = parameter(g, "w", {128, 64}, Init{});
  const auto layer = [&](const Tensor& in) { return matmul(in, w); };
  expect_message<UserError>([&] { x | in_scope("enc", in_scope("fc1", layer)); },
                            {"wafer.matmul", "'enc.fc1'", "127", "128", "f32[16, 127]", "f32[128, 64]"});
  CHECK(g.scope().empty());  // the scope is left all the same
  Graph again;
  const Tensor wide = again.input("wide", {16, 128}), narrow = again.input("narrow", {16, 127});
  CHECK((wide | in_scope("enc", nn::Linear{64, "fc1"})).shape() == Shape{16, 64});
  expect_message<UserError>(
      [&] {
        narrow | reuse("enc", nn::Linear{64, "fc1"});
      },
      {"'enc.fc1.weight'", "[64, 128]", "[64, 127]"});
  expect_message<UserError>(
      [&] {
        wide | in_scope("enc", nn::Linear{64, "fc1"});
      },
      {"'enc.fc1.weight'", "new"});
  expect_message<UserError>(
      [&] {
        ids | in_scope("enc", nn::Linear{4, "fc1"});
      },
      {"enc.fc1", "f32", "i32[16]"});
  expect_message<UserError>([&] { x + ids; }, {"wafer.add", "dtype", "i32[16]"});
  expect_message<UserError>([&] { x + w; }, {"wafer.add", "127", "64"});
  expect_message<UserError>([&] { cross_entropy(x, x); }, {"i32", "f32[16, 127]"});
  expect_message<UserError>([&] { x | Relu{} | Contradiction{}; }, {"test.contradiction"});
  expect_message<UserError>([&] { apply(Relu{}, {x, x}); }, {"wafer.relu", "1 input", "2"});
  expect_message<UserError>([&] { apply(Relu{}, {Tensor{}}); }, {"wafer.relu", "empty"});
  expect_message<UserError>([&] { x + wide; }, {"wafer.add", "two graphs"});
  expect_message<UserError>([&] { x.dim(2); }, {"2"});
}

TEST_CASE("names that are taken, and axes that disagree") {
  Graph g;
  const Axis a = g.axis("a", 4), b = g.axis("b", 4);
  const Tensor x = g.input("x", {a, 3}), y = g.input("y", {b, 3});
  expect_message<UserError>([&] { g.axis("a", 5); }, {"axis 'a'"});
  expect_message<UserError>([&] { g.axis("c", 0); }, {"axis 'c'", ">= 1", "0"});
  expect_message<UserError>([&] { g.input("x", {3}); }, {"input 'x'"});
  expect_message<UserError>([&] { g.input("z", {3}, DType::f64); }, {"input 'z'", "f64"});
  expect_message<UserError>([&] { x + y; }, {"wafer.add", "'a'", "'b'"});
  expect_message<UserError>([&] { g.input("huge", {Index{1} << 40, Index{1} << 40}); }, {});
  expect_message<UserError>([&] { x.split(b, Mesh::rows); }, {"split", "'b'"});
  expect_message<UserError>([&] { x.split(2, Mesh::rows); }, {"2"});
}

TEST_CASE("requests that contradict themselves") {
  const Network n, other;
  const Fabric host = Fabric::host();
  expect_message<UserError>([&] { minimize(n.logits, SGD{}); }, {"minimize", "scalar", "f32[4, 3]"});
  expect_message<UserError>([&] { fetch("a", n.x).fetch("a", n.x); }, {"'a'"});
  expect_message<UserError>([&] { fetch("a", n.x).fetch("b", other.x); }, {"'b'", "two graphs"});
  expect_message<UserError>(
      [&] {
        compile({{"s", fetch("a", n.x)}, {"s", fetch("b", n.x)}}, host);
      },
      {"'s'", "two"});
  expect_message<UserError>(
      [&] {
        compile({{"s", fetch("a", n.x)}, {"t", fetch("b", other.x)}}, host);
      },
      {"'t'", "two graphs"});
  expect_message<UserError>([&] { compile(std::vector<NamedRequest>{}, host); }, {"at least one step"});
  expect_message<UserError>([&] { compile({{"s", Request{}}}, host); }, {"'s'", "nothing"});
  expect_message<UserError>(
      [&] {
        compile({{"s", minimize(mean(square(n.x)), SGD{})}}, host);
      },
      {"'s'", "parameters"});
  expect_message<UserError>([&] { compile({{"s", minimize(n.loss, SGD{.lr = -1})}}, host); }, {"'s'", "-1"});
}

TEST_CASE("an op without a gradient between loss and parameters") {
  Graph g;
  const Tensor x = g.input("x", {4, 5});
  const Tensor h = x | nn::Linear{3, "fc1"};
  const Tensor rounded = h | in_scope("quantize", Round{});
  const Tensor loss = mean(square(rounded));
  expect_message<UserError>(
      [&] {
        compile({{"train", minimize(loss, SGD{})}}, Fabric::host());
      },
      {"'train'", "test.round", "'quantize'", "gradient",
       "op 'test.round' at 'quantize' -> op 'wafer.square' -> op 'wafer.sum_all'", "-> loss"});
  // The op's own result as the loss, and a way that gradients take: not that through `less`, nor a long one
  // in full.
  Graph other;
  const Tensor w = parameter(other, "w", {3}, Init::zeros());
  const Tensor at_the_end = sum(w) | Round{};
  expect_message<UserError>(
      [&] {
        compile({{"train", minimize(at_the_end, SGD{})}}, Fabric::host());
      },
      {"op 'test.round' -> loss"});
  const Tensor step = w | Round{};
  Tensor chained = where(less(step, other.constant(0.5)), other.constant(1), step * w);
  for (int i = 0; i < 30; ++i) chained = chained | in_scope("tanh" + std::to_string(i), Tanh{});
  const std::string message = message_of<UserError>([&] {
    compile({{"train", minimize(mean(chained), SGD{})}}, Fabric::host());
  });
  CHECK_THAT(message,
             Catch::Matchers::ContainsSubstring(
                 "op 'test.round' -> op 'wafer.mul' -> op 'wafer.where' -> op 'wafer.tanh' at 'tanh0' "
                 "-> "));
  CHECK_THAT(message,
             Catch::Matchers::ContainsSubstring(" more ops) -> ") && Catch::Matchers::EndsWith("-> loss"));
  CHECK(message.size() < 800);
  // The other way round it is not on the way.
  CHECK_NOTHROW(compile({{"train", minimize(mean(square(x | Round{} | nn::Linear{3, "fc2"})), SGD{})}},
                        Fabric::host()));
  CHECK_NOTHROW(compile({{"predict", fetch("rounded", rounded)}}, Fabric::host()));
}

TEST_CASE("a gradient that stops before the parameters") {
  Graph g;
  const Tensor w = parameter(g, "w", {4, 3}, Init::zeros());
  const Tensor loss = mean(cast(w | in_scope("pick", Argmax{}), DType::f32));
  expect_message<UserError>(
      [&] {
        compile({{"train", minimize(loss, SGD{})}}, Fabric::host());
      },
      {"step 'train': minimize: ", "stops at op 'wafer.cast', which passes none on",
       "parameter 'w' -> op 'wafer.argmax' at 'pick' -> op 'wafer.cast'", "-> loss"});
}

TEST_CASE("two types of ops under one name") {
  Graph g;
  const Tensor x = g.input("x", {4, 5});
  const Tensor y = x | one::Same{} | two::Same{};
  expect_message<UserError>(
      [&] {
        compile({{"s", fetch("y", y)}}, Fabric::host());
      },
      {"test.same", "got two: one::Same and two::Same"});
}

TEST_CASE("dimensions out of range name function, layer path and tensor") {
  Graph g;
  const Tensor x = g.input("x", {4, 5});
  const Tensor h = x | in_scope("enc", Relu{});
  expect_message<UserError>([&] { x.dim(9); }, {"dim: ", "from -2 to 1", "got 9 of f32[4, 5] of input 'x'"});
  expect_message<UserError>([&] { h.split(-3, Mesh::rows); },
                            {"split: ", "-3 of f32[4, 5] of op 'wafer.relu' at 'enc'"});
  expect_message<UserError>([&] { x | in_scope("dec", [](Tensor y) { return sum(y, {4}); }); },
                            {"sum at 'dec': ", "from -2 to 1", "got 4 of f32[4, 5] of input 'x'"});
  expect_message<UserError>(
      [&] {
        sum(x, {1, -1});
      },
      {"sum: ", "each dimension once", "f32[4, 5] of input 'x'"});
  expect_message<UserError>([&] { mean(x, {2}); }, {"mean: ", "got 2"});
  expect_message<UserError>([&] { mean_keep(x, {2}); }, {"mean_keep: ", "got 2"});
  expect_message<UserError>([&] { transpose(x, {0, 2}); }, {"transpose: ", "got 2"});
  expect_message<UserError>([&] { g.constant(1).dim(0); }, {"dim: ", "with dimensions", "f32[] of constant"});
}
