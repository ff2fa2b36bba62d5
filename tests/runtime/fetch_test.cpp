// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/wafer.hpp>

#include <vector>

using namespace wafer;

/// x + 1 and x - 1.
struct Neighbours {
  static constexpr std::string_view name = "test.neighbours";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return {in.at(0), in.at(0)}; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape, 2); }
  void run(const Context&, Tiles in, Tiles out) const {
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      const float x = element<float>(in[0], index);
      element<float>(out[0], index) = x + 1;
      element<float>(out[1], index) = x - 1;
    });
  }
};

namespace {

template <class T>
std::vector<T> list(const FetchedTensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

struct Place {
  Fabric fabric;
  bool cut;
};

std::vector<Place> places() {
  return {{Fabric::host(), false}, {Fabric::mesh(1, 1), false}, {Fabric::mesh(2, 2), true}};
}

}  // namespace

TEST_CASE("an input can be fetched, alone too") {
  for (const Place& place : places()) {
    Graph g;
    const Axis b = g.axis("batch", 4);
    const Tensor x = g.input("x", {b, 3});
    const Tensor label = g.input("label", {b}, DType::i32);
    if (place.cut) x.split(b, Mesh::rows);
    Session session{compile(fetch("x", x).fetch("label", label).fetch("twice", x + x), place.fabric)};
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    const std::vector<std::int32_t> labels{7, -8};
    const Result result = session.step({{"x", values}, {"label", labels}});
    CHECK(list<float>(result["x"]) == values);
    CHECK(list<std::int32_t>(result["label"]) == labels);
    CHECK(list<float>(result["twice"]) == std::vector<float>{2, 4, 6, 8, 10, 12});
    CHECK(result["x"].shape() == Shape{2, 3});
  }
  Graph g;
  const Tensor x = g.input("x", {3});
  Session session{compile(fetch("x", x), Fabric::host())};
  const std::vector<float> values{1, 2, 3};
  CHECK(list<float>(session.step({{"x", values}})["x"]) == values);
}

TEST_CASE("a parameter can be fetched: its value before the update, and alone") {
  for (const Place& place : places()) {
    Graph g;
    const Axis b = g.axis("batch", 4);
    const Tensor x = g.input("x", {b, 3});
    if (place.cut) x.split(b, Mesh::rows);
    const Tensor w = parameter(g, "w", {3, 2}, Init{});
    const Tensor loss = mean(square(matmul(x, w)));
    Session session{compile(
        {{"train", minimize(loss, SGD{.lr = 0.5}).fetch("w", w)}, {"look", fetch("w", w)}}, place.fabric)};
    session.set("w", std::vector<float>{1, 2, 3, 4, 5, 6});
    const std::vector<float> before = session.get("w");
    const std::vector<float> values{1, 0, 0, 0, 1, 0};
    const Result trained = session.step("train", {{"x", values}});
    CHECK(list<float>(trained["w"]) == before);
    // The mean over 4 elements: gradient x^T (2 y / 4), rows 0 and 1 of w are y.
    const std::vector<float> after{0.75F, 1.5F, 2.25F, 3, 5, 6};
    CHECK(session.get("w") == after);
    CHECK(list<float>(session.step("look", {})["w"]) == after);
  }
}

TEST_CASE("one value under two names, and an op whose second result nobody reads") {
  for (const Place& place : places()) {
    Graph g;
    const Axis b = g.axis("batch", 4);
    const Tensor x = g.input("x", {b, 3});
    if (place.cut) x.split(b, Mesh::rows);
    const Tensors both = apply(Neighbours{}, {x});
    Session first{compile(fetch("up", both.at(0)).fetch("again", both.at(0)), place.fabric)};
    Session second{compile(fetch("down", both.at(1) * both.at(1)), place.fabric)};
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    const Result up = first.step({{"x", values}});
    CHECK(list<float>(up["up"]) == std::vector<float>{2, 3, 4, 5, 6, 7});
    CHECK(list<float>(up["again"]) == std::vector<float>{2, 3, 4, 5, 6, 7});
    CHECK(list<float>(second.step({{"x", values}})["down"]) == std::vector<float>{0, 1, 4, 9, 16, 25});
  }
}

TEST_CASE("constants can be fetched, and a step may need no feeds") {
  for (const Place& place : places()) {
    if (place.cut) continue;
    Graph g;
    const std::vector<float> numbers{1, 2, 3};
    const Tensor c = g.constant(std::span<const float>(numbers), {3});
    Session session{compile(fetch("c", c).fetch("sum", c + c), place.fabric)};
    const Result result = session.step({});
    CHECK(list<float>(result["c"]) == numbers);
    CHECK(list<float>(result["sum"]) == std::vector<float>{2, 4, 6});
  }
}
