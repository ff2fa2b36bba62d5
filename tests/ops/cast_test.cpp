// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/testing/check_op.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace wafer;

namespace {

template <class To, class From>
To cast_one(From x) {
  To result{};
  Tile in, out;
  in.data = &x;
  in.dtype = dtype_of<From>;
  out.data = &result;
  out.dtype = dtype_of<To>;
  Cast{dtype_of<To>}.run({}, Tiles(&in, 1), Tiles(&out, 1));
  return result;
}

}  // namespace

TEST_CASE("cast converts between all dtypes") {
  CHECK(cast_one<float>(16777217.0) == 16777216.0f);
  CHECK(cast_one<float>(1e300) == std::numeric_limits<float>::infinity());
  CHECK(cast_one<float>(std::int32_t{16777219}) == 16777220.0f);
  CHECK(cast_one<float>(true) == 1.0f);
  CHECK(cast_one<double>(0.5f) == 0.5);
  CHECK(cast_one<double>(std::int32_t{-7}) == -7.0);
  CHECK(cast_one<double>(false) == 0.0);
  CHECK(cast_one<bool>(0.25f));
  CHECK_FALSE(cast_one<bool>(-0.0f));
  CHECK(cast_one<bool>(std::nanf("")));
  CHECK(cast_one<bool>(std::int32_t{-1}));
  CHECK(cast_one<std::int32_t>(true) == 1);
  CHECK(cast_one<std::int32_t>(-2.75f) == -2);
  CHECK(cast_one<std::int32_t>(2.75) == 2);
}

TEST_CASE("cast to i32 keeps to what i32 holds") {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kGreatest = std::numeric_limits<std::int32_t>::max();
  CHECK(cast_one<std::int32_t>(3e9f) == kGreatest);
  CHECK(cast_one<std::int32_t>(-3e9f) == kLowest);
  CHECK(cast_one<std::int32_t>(2147483647.0) == kGreatest);
  CHECK(cast_one<std::int32_t>(HUGE_VAL) == kGreatest);
  CHECK(cast_one<std::int32_t>(-HUGE_VAL) == kLowest);
  CHECK(cast_one<std::int32_t>(std::nan("")) == 0);
}

TEST_CASE("cast goes element by element through strided tiles") {
  const std::array<std::int32_t, 6> x{1, 2, 3, 4, 5, 6};
  std::array<float, 6> y{};
  Tile in, out;
  in.data = const_cast<std::int32_t*>(x.data());
  in.dtype = DType::i32;
  in.rank = out.rank = 2;
  in.extent = in.shape = out.extent = out.shape = {2, 3};
  in.stride = {3, 1};
  out.data = y.data();
  out.stride = {1, 2};  // transposed
  Cast{}.run({}, Tiles(&in, 1), Tiles(&out, 1));
  CHECK(y == std::array<float, 6>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("cast has a gradient from float to float only") {
  Graph graph;
  const Tensor x = graph.constant(2), wide = cast(x, DType::f64);
  CHECK(wide.type() == TensorType{DType::f64, {}});
  CHECK(cast(x, DType::f32).value() == x.value());
  const Tensor cotangent = graph.constant(3, DType::f64);
  const Gradients gradient =
      Cast{DType::f64}.gradient(Inputs(&x, 1), Outputs(&wide, 1), Cotangents(&cotangent, 1));
  REQUIRE(gradient.size() == 1);
  CHECK(gradient[0].type() == x.type());
  const Tensor flag = graph.constant(1, DType::boolean), number = cast(flag, DType::f32);
  const Gradients none = Cast{DType::f32}.gradient(Inputs(&flag, 1), Outputs(&number, 1), Cotangents(&x, 1));
  REQUIRE(none.size() == 1);
  CHECK_FALSE(none[0]);
  const Gradients nothing_flows = Cast{DType::f64}.gradient(Inputs(&x, 1), Outputs(&wide, 1), Tensors(1));
  REQUIRE(nothing_flows.size() == 1);
  CHECK_FALSE(nothing_flows[0]);
}

TEST_CASE("cast is what the library demands of an op") {
  using wafer::testing::Array;
  CHECK_NOTHROW(wafer::testing::check_op(
      Cast{DType::f32}, {{Array::uniform({3, 5}, 1)}, {Array::uniform({4, 0}, 2)}, {Array(0.5)}}));
  CHECK_NOTHROW(wafer::testing::check_op(
      Cast{DType::i32},
      {{Array::uniform({65}, 3, -9, 9)}, {Array::booleans({2, 2}, {true, false, false, true})}}));
  CHECK_NOTHROW(
      wafer::testing::check_op(Cast{DType::boolean}, {{Array::labels({2, 3}, {0, 1, 2, 0, -1, 7})}}));
  CHECK_NOTHROW(wafer::testing::check_op(Cast{DType::f64}, {{Array(0.5f)}}));
}

TEST_CASE("cast refuses f64 above rank 0, and other numbers of inputs") {
  CHECK_THROWS_AS(Cast{DType::f64}.infer({{DType::f32, {2}}}), UserError);
  CHECK_THROWS_AS(Cast{DType::f32}.infer({{DType::f64, {1}}}), UserError);
  CHECK_THROWS_AS(Cast{DType::f32}.infer({}), UserError);
}
