// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::check_op;

TEST_CASE("reshape keeps the elements in row-major order") {
  Fixture f;
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(f.floats(reshape(x, {3, 2})) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(reshape(x, {-1}).shape() == Shape{6});
  CHECK(reshape(x, {1, -1, 2}).shape() == Shape{1, 3, 2});
  CHECK(reshape(x, {2, 3}).value() == x.value());
  CHECK(f.gradient(sum(reshape(x, {6})), x).shape() == Shape{2, 3});
}

TEST_CASE("reshape cuts both shapes into common factors") {
  const auto rule = [](const Shape& from, const std::vector<Index>& to) {
    return Reshape{to}.axes({{DType::f32, from}}).text();
  };
  CHECK(rule({4, 6}, {24}) == "(f0 f1) -> ((f0 f1)); f0 4 parallel, f1 6 parallel");
  CHECK(rule({12}, {3, 4}) == "((f0 f1)) -> (f0 f1); f0 3 parallel, f1 4 parallel");
  CHECK(rule({5, 4, 6}, {5, 6, 4}) ==
        "(f0 f1 f3) -> (f0 f2 f4); f0 5 parallel, f1 4 whole, f2 6 whole, f3 6 whole, f4 4 whole");
  CHECK(rule({3, 1, 2}, {3, 2}) == "(f0 1 f1) -> (f0 f1); f0 3 parallel, f1 2 parallel");
}

TEST_CASE("a named axis stays outermost through a reshape") {
  Graph g;
  const Axis b = g.axis("batch", 8);
  const Tensor x = g.input("x", {b, 2, 3});
  const Tensor rows = reshape(x, {16, 3});
  testing::Interpreter run(g);
  run.set_extent(b, 2);
  CHECK(run.type_of(rows).shape == Shape{4, 3});
  CHECK(run.type_of(reshape(rows, {8, 6})).shape == Shape{2, 6});
  CHECK_THROWS_WITH(reshape(x, {4, 12}), ContainsSubstring("wafer.reshape") && ContainsSubstring("batch"));
  CHECK_THROWS_AS(reshape(transpose(x, {1, 0, 2}), {16, 3}), UserError);
}

namespace {

// The names of the axes that the dimensions follow, "-" for none.
std::vector<std::string> axes_of(const Tensor& x) {
  std::vector<std::string> names;
  for (int d = 0; d < x.rank(); ++d) {
    const int axis = x.data()->values[x.value()].axes[static_cast<std::size_t>(d)];
    names.push_back(axis < 0 ? "-" : x.data()->axes[static_cast<std::size_t>(axis)].name);
  }
  return names;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a named axis of one index goes through a reshape as a longer one does") {
  Graph g;
  const Axis b = g.axis("b", 1), c = g.axis("c", 1);
  const Tensor x = g.input("x", {b, 6}), y = g.input("y", {1, b, 4}), z = g.input("z", {b, 1, c, 4});
  CHECK(axes_of(reshape(x, {1, 1, 6})) == Names{"b", "-", "-"});
  CHECK(axes_of(reshape(x, {1, 2, 1, 3})) == Names{"b", "-", "-", "-"});
  CHECK(axes_of(reshape(y, {1, 4})) == Names{"b", "-"});  // the plain dimension is dropped
  CHECK(axes_of(reshape(z, {1, 1, 2, 2})) == Names{"b", "c", "-", "-"});
  CHECK(axes_of(reshape(x, {6})) == Names{"b"});  // outermost in a product
  CHECK(axes_of(reshape(x, {2, 3})) == Names{"b", "-"});
  CHECK(axes_of(reshape(reshape(x, {6}), {1, 6})) == Names{"b", "-"});
  testing::Interpreter run(g);
  run.set_extent(b, 0);
  CHECK(run.type_of(reshape(x, {2, 3})).shape == Shape{0, 3});
  CHECK(run.type_of(reshape(x, {1, 1, 6})).shape == Shape{0, 1, 6});
  for (const std::vector<Index>& shape : {std::vector<Index>{4}, {2, 2}}) {  // two axes cannot be outermost
    CHECK_THROWS_WITH(reshape(z, shape), ContainsSubstring("wafer.reshape") && ContainsSubstring("axis 'c'"));
  }
  CHECK_THROWS_WITH(reshape(transpose(x), {6}),
                    ContainsSubstring("wafer.reshape") && ContainsSubstring("'b'"));
}

TEST_CASE("gradients where a named axis has one index") {
  Graph g;
  const Axis b = g.axis("b", 1);
  const Tensor w = parameter(g, "w", {4, 2}, Init::zeros());
  const Tensor x = g.input("x", {b, 4}), y = g.input("y", {1, b, 4}), z = g.input("z", {3, b, 4, 5});
  const Tensor column = g.input("column", {b, 1}), wide = g.input("wide", {3, 1, 4});
  const auto gradient = [](const Tensor& loss, const Tensor& of) {
    const Tensor result = gradients_of(loss, std::span(&of, 1)).at(0);
    CHECK(result.shape() == of.shape());
    CHECK(axes_of(result) == axes_of(of));
  };
  const auto squares = [](const Tensor& t) { return sum(square(t)); };
  gradient(squares(sum(y, {0})), y);
  gradient(squares(sum(matmul(y, w), {0})), w);
  gradient(squares(sum(z, {0, 3})), z);
  gradient(sum(column * wide), column);
  gradient(squares(reshape(x, {1, 1, 4}) + y), x);  // the axis in two dimensions
  for (const std::vector<Index>& shape :
       std::vector<std::vector<Index>>{{1, 1, 4}, {1, 4, 1}, {4}, {2, 2}, {1, 2, 1, 2}, {2, 1, 2}}) {
    gradient(squares(reshape(x, shape)), x);
    gradient(squares(reshape(matmul(x, w), {-1, 2})), w);
  }
}

TEST_CASE("a named axis goes through a reshape of nothing") {
  Graph g;
  const Axis b = g.axis("b", 4);
  const Tensor x = g.input("x", {b, 0}), y = g.input("y", {b, 0, 3});
  CHECK(axes_of(reshape(x, {0})) == Names{"b"});
  CHECK(axes_of(reshape(y, {0, 3})) == Names{"b", "-"});
  CHECK(axes_of(reshape(y, {4, 0})) == Names{"b", "-"});
  CHECK(axes_of(reshape(reshape(y, {0, 3}), {4, 0, 3})) == Names{"b", "-", "-"});
  const Tensor merged = reshape(y, {0, 3});
  const Tensor gradient = gradients_of(sum(square(merged)), std::span(&y, 1)).at(0);
  CHECK(axes_of(gradient) == Names{"b", "-", "-"});
  CHECK_THROWS_WITH(reshape(x, {3, 0}), ContainsSubstring("wafer.reshape") && ContainsSubstring("axis 'b'"));
}

TEST_CASE("a reshape that would lose a named axis is refused") {
  Graph g;
  const Axis b = g.axis("b", 4);
  const Tensor x = g.input("x", {b, 3});
  CHECK_THROWS_WITH(reshape(x, {3, 4}), ContainsSubstring("wafer.reshape") && ContainsSubstring("axis 'b'") &&
                                            ContainsSubstring("[3, 4]"));
}

TEST_CASE("transpose permutes dimensions") {
  Fixture f;
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(f.floats(transpose(x)) == Floats{1, 4, 2, 5, 3, 6});
  const Tensor y = transpose(f(Array::uniform({2, 3, 4}, 1)), {2, 0, -2});
  CHECK(y.shape() == Shape{4, 2, 3});
  CHECK(f.floats(f.gradient(sum(transpose(x) * f({3, 2}, {1, 2, 3, 4, 5, 6})), x)) ==
        Floats{1, 3, 5, 2, 4, 6});
}

TEST_CASE("broadcast_like stretches, and its gradient sums") {
  Fixture f;
  const Tensor x = f({2, 1}, {1, 2}), like = f(Array::uniform({2, 3}, 1));
  CHECK(f.floats(broadcast_like(x, like)) == Floats{1, 1, 1, 2, 2, 2});
  CHECK(f.floats(f.gradient(sum(broadcast_like(x, like)), x)) == Floats{3, 3});
}

TEST_CASE("ops on shapes hold what every op holds") {
  const Array x = Array::uniform({4, 6, 5}, 1), i = Array::labels({2, 3}, {1, 2, 3, 4, 5, 6});
  check_op(Reshape{{24, 5}}, {{x}});
  check_op(Reshape{{4, 2, 15}}, {{x}});
  check_op(Reshape{{5, 6, 4}}, {{x}});
  check_op(Reshape{{2, 2, 30, 1}}, {{x}});
  check_op(Reshape{{1, 1}}, {{Array::uniform({}, 1)}, {Array::uniform({1}, 1)}});
  check_op(Reshape{{3, 2}}, {{i}, {Array::booleans({6}, {true, false, true, true, false, false})}});
  check_op(Reshape{{0, 7}}, {{Array::uniform({3, 0}, 1)}, {Array::uniform({0, 7}, 1)}});
  check_op(Transpose{{2, 0, 1}}, {{x}, {Array::uniform({1, 300, 2}, 1)}, {Array::uniform({3, 0, 2}, 1)}});
  check_op(Transpose{{1, 0}},
           {{Array::uniform({33, 17}, 1)}, {i}, {Array::booleans({1, 3}, {true, false, true})}});
  check_op(Transpose{}, {{Array(1.5)}});
  check_op(BroadcastLike{}, {{Array::uniform({6, 1}, 1), x},
                             {Array::uniform({}, 1), x},
                             {Array::uniform({4, 6, 5}, 2), x},
                             {Array::labels({3}, {1, 2, 3}), i},
                             {Array(2.5), Array(0.5)},
                             {Array::uniform({1, 3}, 1), Array::uniform({0, 3}, 2)}});
  CHECK(true);  // check_op throws
}

TEST_CASE("ops on shapes refuse what does not fit") {
  Fixture f;
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_THROWS_WITH(reshape(x, {4, 2}),
                    ContainsSubstring("expected a shape of 6 elements for f32[2, 3], got [4, 2]"));
  CHECK_THROWS_WITH(reshape(x, {4, -1}), ContainsSubstring("extents that divide the 6 elements"));
  CHECK_THROWS_AS(reshape(x, {-1, -1}), UserError);
  CHECK_THROWS_WITH(transpose(x, {0, 0}),
                    ContainsSubstring("expected an order of the dimensions of f32[2, 3]"));
  CHECK_THROWS_WITH(transpose(f({2}, {1, 2})), ContainsSubstring("rank >= 2"));
  CHECK_THROWS_WITH(broadcast_like(x, f({2}, {1, 2})), ContainsSubstring("wafer.broadcast_like"));
  CHECK_THROWS_AS(broadcast_like(f.graph.constant(1, DType::f64), x), UserError);
}
