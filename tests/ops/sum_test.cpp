// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::check_op;
using wafer::testing::Example;

namespace {

Array counting(const Shape& shape) {
  Array array({DType::f32, shape});
  float next = 0;
  for (float& x : array.values<float>()) x = next++;
  return array;
}

}  // namespace

TEST_CASE("sums and means over dimensions have values known by hand") {
  Fixture f;
  const Tensor x = f(counting({2, 3, 2}));
  CHECK(f.scalar(sum(x)) == 66);
  CHECK(f.scalar(mean(x)) == 5.5);
  CHECK(f.floats(sum(x, {0})) == Floats{6, 8, 10, 12, 14, 16});
  CHECK(f.floats(sum(x, {1})) == Floats{6, 9, 24, 27});
  CHECK(f.floats(sum(x, {-1})) == Floats{1, 5, 9, 13, 17, 21});
  CHECK(f.floats(sum(x, {0, 1})) == Floats{30, 36});
  CHECK(f.floats(sum(x, {2, 1})) == Floats{15, 51});
  CHECK(f.floats(sum(x, {0, -1})) == Floats{14, 22, 30});
  CHECK(f.floats(mean(x, {0, 1})) == Floats{5, 6});
  CHECK(sum_keep(x, {0, 2}).shape() == Shape{1, 3, 1});
  CHECK(f.floats(mean_keep(x, {1})) == Floats{2, 3, 8, 9});
  CHECK(sum_keep(x, {0, 1, 2}).shape() == Shape{1, 1, 1});
  CHECK(sum(x, {0, 1, 2}).rank() == 0);
  CHECK(f.scalar(sum_all(x)) == 66);
  CHECK(f.scalar(sum_squares(x)) == 506);
}

TEST_CASE("gradients of sums and means are spread") {
  Fixture f;
  const Tensor x = f(counting({2, 3}));
  CHECK(f.floats(f.gradient(sum(x), x)) == Floats(6, 1));
  CHECK(f.floats(f.gradient(mean(x), x)) == Floats(6, static_cast<float>(1.0 / 6)));
  const Tensor weights = f({3}, {1, 2, 3});
  CHECK(f.floats(f.gradient(sum(sum(x, {0}) * weights), x)) == Floats{1, 2, 3, 1, 2, 3});
  CHECK(f.floats(f.gradient(sum(mean_keep(x, {1}) * f({2, 1}, {3, 6})), x)) == Floats{1, 1, 1, 2, 2, 2});
}

TEST_CASE("a sum to a scalar is taken in f64") {
  Fixture f;
  // In f32 the ones would be lost beside 2^24.
  CHECK(f.scalar(sum(f({5}, {16777216, 1, 1, 1, 1}))) == 16777220);
  CHECK(f.scalar(sum(f({2, 2}, {16777216, 1, 1, 0}))) == 16777218);
}

TEST_CASE("a sum over other dimensions is one f32 chain, a sum over the last one lanes") {
  Fixture f;
  Array x({DType::f32, Shape{32}});
  std::fill(x.values<float>().begin(), x.values<float>().end(), 1.0f);
  x.values<float>()[0] = 16777216;
  // The chain stays at 2^24. Of the lanes the first stays there and the others are 2; folded they are 30, and
  // all count.
  CHECK(f.floats(reshape(sum(reshape(f(x), {32, 1}), {0}), {1})) == Floats{16777216});
  CHECK(f.floats(sum(reshape(f(x), {1, 32}), {1})) == Floats{16777246});
}

TEST_CASE("a mean divides by the run-time extent") {
  Graph g;
  const Axis b = g.axis("batch", 8);
  const Tensor x = g.input("x", {b, 2});
  const Tensor all = mean(x), rows = mean(x, {0}), columns = mean(x, {1});
  testing::Interpreter run(g);
  run.set_extent(b, 3);
  run.set(x, counting({3, 2}));
  CHECK(run.value(all).values<float>()[0] == 2.5f);
  CHECK(Array(run.value(rows)).values<float>()[1] == 3);
  CHECK(run.type_of(columns) == TensorType{DType::f32, Shape{3}});
  run.set_extent(b, 0);
  run.set(x, Array({DType::f32, Shape{0, 2}}));
  CHECK(std::isnan(run.value(all).values<float>()[0]));
}

TEST_CASE("sums hold what every op holds") {
  struct Case {
    Shape shape;
    std::vector<Index> dims;
  };
  const Case cases[] = {
      {{5}, {0}},        {{200}, {0}},         {{3, 130}, {1}},  {{130, 3}, {0}},        {{2, 3, 70}, {2}},
      {{4, 3, 70}, {0}}, {{4, 3, 70}, {0, 1}}, {{4, 3, 7}, {1}}, {{2, 3, 4, 5}, {0, 2}}, {{0, 3}, {0}},
      {{3, 0}, {1}},     {{3, 0}, {0}},        {{1, 1}, {1}},    {{2, 0, 3}, {0, 1}}};
  for (const Case& c : cases) {
    for (const bool keep : {false, true}) check_op(Sum{c.dims, keep}, {{Array::uniform(c.shape, 1)}});
  }
  std::vector<Example> examples;
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{65}, Shape{5, 130}, Shape{3, 2, 17}, Shape{0}, Shape{0, 3}, Shape{3, 0}}) {
    examples.push_back({Array::uniform(shape, 1)});
  }
  check_op(SumAll{}, examples);
  check_op(SumSquares{}, examples);
  CHECK(true);  // check_op throws
}

TEST_CASE("sums refuse what does not fit") {
  Fixture f;
  const Tensor x = f(counting({2, 3}));
  CHECK_THROWS_WITH(sum(x, {2}), ContainsSubstring("from -2 to 1, got 2"));
  CHECK_THROWS_WITH(sum(x, {0, -2}), ContainsSubstring("got 0 twice"));
  CHECK_THROWS_WITH(apply(Sum{{0, 1}, false}, {x}),
                    ContainsSubstring("wafer.sum") && ContainsSubstring("last dimension alone"));
  CHECK_THROWS_AS(apply(Sum{}, {x}), UserError);
  CHECK_THROWS_WITH(
      sum((f.graph.constant(3, DType::i32) + 1) | [](Tensor t) { return broadcast_like(t, t); } | sum_all),
      ContainsSubstring("expected a tensor of f32, got i32[]"));
}
