// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/step_number.hpp>

#include "catch.hpp"

using namespace wafer;

TEST_CASE("step_number is the step of the context") {
  Graph graph;
  CHECK(step_number(graph).type() == TensorType{DType::f64, {}});
  Context context;
  context.step = (Index{1} << 24) + 1;  // more than f32 holds
  double value = 0;
  Tile tile;
  tile.data = &value;
  tile.dtype = DType::f64;
  StepNumber{}.run(context, {}, Tiles(&tile, 1));
  CHECK(value == 16777217.0);
}

TEST_CASE("step_number takes no inputs") {
  Graph graph;
  CHECK_THROWS_AS(apply(StepNumber{}, {graph.constant(1)}), UserError);
}
