// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/axis_extent.hpp>
#include <wafer/testing/interpreter.hpp>

#include "catch.hpp"

#include <vector>

using namespace wafer;
using wafer::testing::Interpreter;

TEST_CASE("element_count follows the run-time extents of named axes") {
  Graph graph;
  const Axis batch = graph.axis("batch", 128), time = graph.axis("time", 16);
  const Tensor x = graph.input("x", {batch, 7, time, 3});
  const auto count = [&](std::vector<int> dims) {
    const Tensor result = element_count(x, dims);
    CHECK(result.type() == TensorType{DType::f64, {}});
    Interpreter interpreter(graph);
    interpreter.set_extent(batch, 5);
    interpreter.set_extent(time, 11);
    return interpreter.value(result).values<double>()[0];
  };
  CHECK(count({}) == 1);
  CHECK(count({1}) == 7);
  CHECK(count({-3, 3}) == 21);
  CHECK(count({0}) == 5);
  CHECK(count({0, 1}) == 35);
  CHECK(count({-2}) == 11);
  CHECK(count({0, 1, 2, 3}) == 5 * 7 * 11 * 3);
  CHECK_THROWS_AS(count({4}), UserError);
}

TEST_CASE("element_count multiplies an axis that is the outer part of a dimension") {
  Graph graph;
  const Axis batch = graph.axis("batch", 4);
  const Tensor x = graph.input("x", {batch, 3});
  graph.data()->values[x.value()].type.shape = {12, 3};  // as a reshape of [batch, 3, 3] gives
  const int dims[] = {0};
  Interpreter interpreter(graph);
  interpreter.set_extent(batch, 2);
  CHECK(interpreter.value(element_count(x, dims)).values<double>()[0] == 6);
}

TEST_CASE("axis_extent takes no inputs") {
  Graph graph;
  CHECK_THROWS_AS(apply(AxisExtent{}, {graph.constant(1)}), UserError);
}
