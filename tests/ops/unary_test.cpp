// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include <cmath>
#include <limits>

#include "../oracle/ops_figures.hpp"
#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using wafer::testing::check_op;
using wafer::testing::CheckOptions;
using wafer::testing::Example;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Figures {
  const char* name;
  Tensor (*function)(Tensor);
  std::span<const oracle::Point> points;
};
const Figures kFigures[] = {
    {"gelu", gelu, oracle::kGelu},        {"sigmoid", sigmoid, oracle::kSigmoid},
    {"tanh", wafer::tanh, oracle::kTanh}, {"exp", wafer::exp, oracle::kExp},
    {"cos", wafer::cos, oracle::kCos},    {"log", wafer::log, oracle::kLog},
    {"sqrt", wafer::sqrt, oracle::kSqrt},
};

// One f32 through a function; NaN compares by its own test.
float of(Tensor (*function)(Tensor), float x) {
  Fixture f;
  return f.floats(function(f({1}, {x})))[0];
}

double of64(Tensor (*function)(Tensor), double x) {
  Fixture f;
  return f.scalar(function(f.graph.constant(x, DType::f64)));
}

// Values of both signs, away from 0.
Array both_signs(const Shape& shape, std::uint64_t stream) {
  Array array = Array::uniform(shape, stream, 0.2, 1.5);
  float sign = 1;
  for (float& x : array.values<float>()) x *= sign = -sign;
  return array;
}

std::vector<Example> examples(bool positive) {
  std::vector<Example> all;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{65}, Shape{3, 5}, Shape{2, 3, 7}, Shape{0},
                             Shape{4, 0}, Shape{3, 301}, Shape{1, 1, 1}}) {
    all.push_back({positive ? Array::uniform(shape, all.size(), 0.4, 1.9) : both_signs(shape, all.size())});
  }
  return all;
}

}  // namespace

TEST_CASE("functions of one element have PyTorch's values and derivatives") {
  for (const Figures& figures : kFigures) {
    for (const oracle::Point& point : figures.points) {
      CAPTURE(figures.name, point.x);
      Fixture f;
      const Tensor x = f({1}, {static_cast<float>(point.x)});
      const Tensor y = figures.function(x);
      CHECK(f.scalar(y) == Approx(point.y).epsilon(1e-6).margin(1e-7));
      CHECK(f.scalar(f.gradient(sum(y), x)) == Approx(point.dy).epsilon(4e-6).margin(4e-7));
    }
  }
}

TEST_CASE("relu, neg and square have values known by hand") {
  Fixture f;
  const Tensor x = f({4}, {-2, 0, 0.5f, 3});
  CHECK(f.floats(relu(x)) == Floats{0, 0, 0.5f, 3});
  CHECK(f.floats(f.gradient(sum(x | Relu{}), x)) == Floats{0, 0, 1, 1});
  CHECK(f.floats(-x) == Floats{2, -0.0f, -0.5f, -3});
  CHECK(f.floats(square(x)) == Floats{4, 0, 0.25f, 9});
  CHECK(f.floats(f.gradient(sum(x | square), x)) == Floats{-4, 0, 1, 6});
}

TEST_CASE("ends of ranges and NaN") {
  CHECK(std::isnan(of(relu, kNan)));
  CHECK(of(relu, -kInfinity) == 0);
  CHECK(of(relu, kInfinity) == kInfinity);
  CHECK(std::isnan(of(wafer::sqrt, -1)));
  CHECK(of(wafer::log, 0) == -kInfinity);
  CHECK(std::isnan(of(wafer::log, -1)));
  CHECK(of(wafer::exp, 100) == kInfinity);
  CHECK(of(wafer::exp, -200) == 0);
  CHECK(of(gelu, -kInfinity) == Approx(0).margin(1e-30));
  CHECK(of(gelu, kInfinity) == kInfinity);
  for (const float far : {20.0f, 1e4f, 3e38f}) {  // the derivative's parts overflow, or cancel
    Fixture f;
    const Tensor x = f({2}, {far, -far});
    CHECK(f.floats(f.gradient(sum(gelu(x)), x)) == Floats{1, 0});
  }
  CHECK(of(sigmoid, -200) == 0);
  CHECK(of(sigmoid, 200) == 1);
  CHECK(of(wafer::tanh, kInfinity) == 1);
}

TEST_CASE("scalars of f64 are computed in f64") {
  CHECK(of64(wafer::exp, 1) == Approx(2.718281828459045).epsilon(1e-15));
  CHECK(of64(wafer::log, 10) == Approx(2.302585092994046).epsilon(1e-15));
  CHECK(of64(wafer::cos, 1) == Approx(0.5403023058681398).epsilon(1e-15));
  CHECK(of64(wafer::tanh, 0.5) == Approx(0.46211715726000973).epsilon(1e-14));
  CHECK(of64(wafer::sqrt, 2) == 1.4142135623730951);
  CHECK(of64(sigmoid, -1) == Approx(0.2689414213699951).epsilon(1e-14));
  CHECK(of64(gelu, 2) == Approx(1.954597694087775).epsilon(1e-14));
  CHECK(of64(square, 1e8 + 1) == (1e8 + 1) * (1e8 + 1));
  CHECK(of64(relu, -3) == 0);
  CHECK(of64(neg, 3) == -3);
}

TEST_CASE("functions of one element hold what every op holds") {
  check_op(Neg{}, examples(false));
  check_op(Square{}, examples(false));
  check_op(Relu{}, examples(false));
  check_op(Gelu{}, examples(false));
  check_op(Sigmoid{}, examples(false));
  check_op(Tanh{}, examples(false));
  check_op(Exp{}, examples(false));
  check_op(Cos{}, examples(false));
  check_op(Log{}, examples(true));
  check_op(Sqrt{}, examples(true));
  const std::vector<Example> scalars{{Array(0.75)}};
  for (const OpHandle& op :
       {OpHandle(Neg{}), OpHandle(Square{}), OpHandle(Relu{}), OpHandle(Gelu{}), OpHandle(Sigmoid{}),
        OpHandle(Tanh{}), OpHandle(Exp{}), OpHandle(Cos{}), OpHandle(Log{}), OpHandle(Sqrt{})}) {
    check_op(op, scalars, CheckOptions{});
  }
  CHECK(true);  // check_op throws
}

TEST_CASE("functions of one element refuse other types") {
  Graph g;
  const Tensor i = g.constant(3, DType::i32);
  CHECK_THROWS_WITH(relu(i),
                    Catch::Matchers::ContainsSubstring("wafer.relu") &&
                        Catch::Matchers::ContainsSubstring("expected f32, or a scalar of f64, got i32[]"));
  CHECK_THROWS_AS(wafer::exp(g.constant(1, DType::boolean)), UserError);
  CHECK_THROWS_AS(apply(Exp{}, {i, i}), UserError);
}
