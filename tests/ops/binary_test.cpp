// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::check_op;
using wafer::testing::CheckOptions;
using wafer::testing::Example;

namespace {

// a of both signs and beyond 1.3, b within (0.3, 1): no ties.
Array outside(const Shape& shape, std::uint64_t stream) {
  Array array = Array::uniform(shape, stream, 1.3, 2);
  float sign = 1;
  for (float& x : array.values<float>()) x *= sign = -sign;
  return array;
}
Array inside(const Shape& shape, std::uint64_t stream) { return Array::uniform(shape, stream, 0.3, 1); }

const std::pair<Shape, Shape> kShapes[] = {{{}, {}},
                                           {{1}, {1}},
                                           {{7}, {7}},
                                           {{3, 5}, {3, 5}},
                                           {{3, 5}, {5}},
                                           {{3, 5}, {1, 5}},
                                           {{3, 5}, {3, 1}},
                                           {{3, 1}, {1, 4}},
                                           {{}, {2, 3}},
                                           {{2, 1, 4, 8}, {2, 1, 4, 1}},
                                           {{0, 3}, {3}},
                                           {{2, 0}, {1}},
                                           {{300}, {1}},
                                           {{2, 3, 2}, {3, 1}},
                                           {{1, 4}, {2, 3, 4}},
                                           {{2, 300}, {2, 1}},
                                           {{17, 9}, {17, 9}}};

std::vector<Example> examples(bool positive) {
  std::vector<Example> all;
  for (const auto& [a, b] : kShapes) {
    all.push_back({positive ? Array::uniform(a, all.size(), 0.5, 1.5) : outside(a, all.size()),
                   inside(b, 100 + all.size())});
  }
  return all;
}

}  // namespace

TEST_CASE("arithmetic broadcasts as NumPy does") {
  Fixture f;
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor row = f({3}, {10, 20, 30});
  const Tensor column = f({2, 1}, {2, 4});
  CHECK(f.floats(x + row) == Floats{11, 22, 33, 14, 25, 36});
  CHECK(f.floats(x - column) == Floats{-1, 0, 1, 0, 1, 2});
  CHECK(f.floats(row * column) == Floats{20, 40, 60, 40, 80, 120});
  CHECK(f.floats(x / column) == Floats{0.5f, 1, 1.5f, 1, 1.25f, 1.5f});
  CHECK(f.floats(2.0 * x) == Floats{2, 4, 6, 8, 10, 12});
  CHECK(f.floats(1.0 - x) == Floats{0, -1, -2, -3, -4, -5});
  CHECK(f.floats(12.0 / x) == Floats{12, 6, 4, 3, 2.4f, 2});
  CHECK(f.floats(x + 1) == Floats{2, 3, 4, 5, 6, 7});
  CHECK(f.floats(min(x, f({}, {3}))) == Floats{1, 2, 3, 3, 3, 3});
  CHECK(f.floats(max(x, f({}, {3}))) == Floats{3, 3, 3, 4, 5, 6});
  CHECK(f.floats(pow(x, f({}, {2}))) == Floats{1, 4, 9, 16, 25, 36});
}

TEST_CASE("gradients of broadcast operands are summed back") {
  Fixture f;
  SECTION("a row of shape [1, 4]") {
    const Tensor x = f(Array::uniform({3, 4}, 1)), b = f(Array::uniform({1, 4}, 2));
    const Tensor db = f.gradient(sum(x + b), b);
    CHECK(db.shape() == Shape{1, 4});
    CHECK(f.floats(db) == Floats{3, 3, 3, 3});
  }
  SECTION("a factor of shape [2, 1, 4, 1]") {
    Array x({DType::f32, Shape{2, 1, 4, 8}});
    for (int i = 0; i < 64; ++i) x.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    const Tensor m = f(Array::uniform({2, 1, 4, 1}, 2));
    const Tensor dm = f.gradient(sum(f(x) * m), m);
    CHECK(dm.shape() == Shape{2, 1, 4, 1});
    CHECK(f.floats(dm) == Floats{28, 92, 156, 220, 284, 348, 412, 476});  // sums of 8 numbers in a row
  }
  SECTION("a scalar") {
    const Tensor s = f({}, {2}), v = f({3}, {1, 2, 4});
    const Tensor ds = f.gradient(sum(s * v), s);
    CHECK(ds.rank() == 0);
    CHECK(f.scalar(ds) == 7);
  }
}

TEST_CASE("the least and the greatest share the gradient at ties") {
  Fixture f;
  const Tensor a = f({3}, {1, 2, 5}), b = f({3}, {4, 2, 3});
  CHECK(f.floats(f.gradient(sum(max(a, b)), a)) == Floats{0, 0.5f, 1});
  CHECK(f.floats(f.gradient(sum(max(a, b)), b)) == Floats{1, 0.5f, 0});
  CHECK(f.floats(f.gradient(sum(min(a, b)), a)) == Floats{1, 0.5f, 0});
  CHECK(f.floats(f.gradient(sum(min(a, b)), b)) == Floats{0, 0.5f, 1});
}

TEST_CASE("NaN passes through the least and the greatest from either side") {
  Fixture f;
  const Tensor a = f({2}, {NAN, 1}), b = f({2}, {1, NAN});
  for (const Tensor& y : {min(a, b), max(a, b)}) {
    CHECK(std::isnan(f.floats(y)[0]));
    CHECK(std::isnan(f.floats(y)[1]));
  }
  CHECK(f.value(less(a, b)).values<bool>() == std::vector<bool>{false, false});
}

TEST_CASE("powers have the gradients of PyTorch where base or exponent is 0") {
  Fixture f;
  const Tensor a = f({4}, {0, 0, 2, -2}), b = f({4}, {2, 0, 0, 3});
  const Tensor y = sum(pow(a, b));
  CHECK(f.floats(pow(a, b)) == Floats{0, 1, 1, -8});
  CHECK(f.floats(f.gradient(y, a)) == Floats{0, 0, 0, 12});
  const Floats db = f.floats(f.gradient(y, b));
  CHECK(db[0] == 0);
  CHECK(db[1] == 0);
  CHECK(db[2] == Approx(0.6931472));
  CHECK(std::isnan(db[3]));
}

TEST_CASE("a condition chooses") {
  Fixture f;
  const Tensor a = f({2, 2}, {1, 2, 3, 4}), b = f({2}, {-1, -2});
  const Tensor c = less(a, f({}, {2.5f}));
  const Tensor y = where(c, a, b);
  CHECK(f.floats(y) == Floats{1, 2, -1, -2});
  CHECK(f.floats(f.gradient(sum(y), a)) == Floats{1, 1, 0, 0});
  CHECK(f.floats(f.gradient(sum(y), b)) == Floats{1, 1});
}

TEST_CASE("integers are exact, and wrap around") {
  Graph g;
  testing::Interpreter run(g);
  const std::int32_t values[] = {5, -7, 2147483647};
  const Tensor x = g.constant(std::span<const std::int32_t>(values), {3});
  using Integers = std::vector<std::int32_t>;
  const auto list = [&](const Tensor& t) { return Array(run.value(t)).values<std::int32_t>(); };
  CHECK(list(x + 1) == Integers{6, -6, -2147483648});
  CHECK(list(2 - x) == Integers{-3, 9, -2147483645});
  CHECK(list(x * 2) == Integers{10, -14, -2});
  CHECK(list(min(x, constant_like(3, x))) == Integers{3, -7, 3});
  CHECK(list(max(x, constant_like(3, x))) == Integers{5, 3, 2147483647});
  CHECK_THROWS_WITH(x + 0.5, ContainsSubstring("whole number"));
  CHECK_THROWS_AS(x / x, UserError);
}

TEST_CASE("scalars of f64 stay in f64") {
  Fixture f;
  const Tensor x = f.graph.constant(0.1, DType::f64);
  CHECK(f.scalar(x + 0.2) == 0.1 + 0.2);
  CHECK(f.scalar(1.0 / x) == 10);
  CHECK(f.scalar(pow(x, constant_like(3, x))) == Approx(1e-3).epsilon(1e-14));
  CHECK(f.scalar(where(less(x, constant_like(1, x)), x, x * 2)) == 0.1);
}

TEST_CASE("ops of two operands hold what every op holds") {
  check_op(Add{}, examples(false));
  check_op(Sub{}, examples(false));
  check_op(Mul{}, examples(false));
  check_op(Div{}, examples(false));
  check_op(Min{}, examples(false));
  check_op(Max{}, examples(false));
  check_op(Less{}, examples(false));
  check_op(Pow{}, examples(true));
  const std::vector<Example> scalars{{Array(0.75), Array(1.5)}};
  for (const OpHandle& op : {OpHandle(Add{}), OpHandle(Sub{}), OpHandle(Mul{}), OpHandle(Div{}),
                             OpHandle(Min{}), OpHandle(Max{}), OpHandle(Less{}), OpHandle(Pow{})}) {
    check_op(op, scalars, CheckOptions{});
  }
  const Array i = Array::labels({2, 3}, {1, 5, -3, 7, 0, 2}), j = Array::labels({3}, {2, 5, -9});
  for (const OpHandle& op : {OpHandle(Add{}), OpHandle(Sub{}), OpHandle(Mul{}), OpHandle(Min{}),
                             OpHandle(Max{}), OpHandle(Less{})}) {
    check_op(op, {{i, j}}, CheckOptions{});
  }
  check_op(ReluGradient{}, examples(false));
  check_op(GeluGradient{}, examples(false));
  CHECK(true);  // check_op throws
}

TEST_CASE("where holds what every op holds") {
  const Array c = Array::booleans({2, 3}, {true, false, true, true, false, false});
  check_op(Where{}, {{c, outside({2, 3}, 1), inside({2, 3}, 2)},
                     {c, outside({}, 1), inside({3}, 2)},
                     {Array::booleans({3}, {true, false, true}), outside({2, 3}, 3), inside({2, 1}, 4)},
                     {Array::booleans({}, {true}), outside({2, 3}, 3), inside({2, 3}, 4)},
                     {Array::booleans({}, {false}), Array(1.5), Array(2.5)}});
  CHECK(true);  // check_op throws
}

TEST_CASE("ops of two operands refuse what does not fit") {
  Fixture f;
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6}), y = f({2}, {1, 2});
  CHECK_THROWS_WITH(x + y, ContainsSubstring("wafer.add") && ContainsSubstring("[2, 3] and [2]"));
  CHECK_THROWS_WITH(mul(x, f.graph.constant(2, DType::i32)),
                    ContainsSubstring("expected inputs of one dtype"));
  CHECK_THROWS_WITH(where(x, x, x), ContainsSubstring("expected a condition of bool, got f32[2, 3]"));
  CHECK_THROWS_AS(where(less(x, x), f.graph.constant(1, DType::f64), f.graph.constant(2, DType::f64)),
                  UserError);
}
