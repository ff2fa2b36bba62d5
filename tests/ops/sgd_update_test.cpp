// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/sgd_update.hpp>
#include <wafer/testing/check_op.hpp>

#include "update_fixture.hpp"

using namespace wafer_test;

namespace {

const Floats kStart{1, -0.5f, 0.25f, 2, -3};
const Floats kGradients[3] = {
    {0.1f, -0.2f, 0.3f, 0, 5}, {-0.4f, 0.1f, 0.2f, 1e-4f, -2}, {0.7f, 0, -0.6f, 1e-6f, 1}};

// The parameter after the last of three steps of rate 0.1, and the momentum. The gradients come multiplied by
// 4, and the scale takes it back.
std::vector<Floats> three_steps(const SgdUpdate& op, Way way) {
  std::vector<Floats> state{kStart};
  if (op.has_momentum()) state.emplace_back(5, 0.0f);
  for (const Floats& gradient : kGradients) {
    Floats scaled = gradient;
    for (float& g : scaled) g *= 4;
    std::vector<Floats> in{state[0], scaled};
    if (op.has_momentum()) in.push_back(state[1]);
    state = run_update(OpHandle(op), in, {0.1f, 0.25f}, way);
  }
  return state;
}

}  // namespace

// The numbers come from torch.optim.SGD of PyTorch 1.13.
TEST_CASE("sgd_update makes PyTorch's steps") {
  struct Case {
    SgdUpdate op;
    std::vector<Floats> expected;
  };
  const std::vector<Case> cases{
      {{}, {{0.959999979f, -0.48999998f, 0.26000002f, 1.99998987f, -3.39999986f}}},
      {{0, 0.05, false}, {{0.944974601f, -0.482686937f, 0.256667972f, 1.97013962f, -3.35123682f}}},
      {{0.9, 0.05, false},
       {{0.950959623f, -0.451164424f, 0.18438673f, 1.94412076f, -3.98272204f},
        {0.556153715f, -0.136980608f, -0.148554742f, 0.269192994f, 2.78647113f}}},
      {{0.9, 0.05, true},
       {{0.900903046f, -0.439216763f, 0.198556021f, 1.92017651f, -4.22575617f},
        {0.556523561f, -0.135510311f, -0.152021855f, 0.267939061f, 2.75717759f}}},
  };
  for (const Case& each : cases) {
    for (const Way way : all_ways()) {
      CAPTURE(OpHandle(each.op).text(), way.kernel, name_of(way.target), way.in_place, way.stride);
      const auto got = three_steps(each.op, way);
      REQUIRE(got.size() == each.expected.size());
      for (std::size_t r = 0; r < got.size(); ++r) check_close(got[r], each.expected[r]);
    }
  }
}

TEST_CASE("sgd_update gives the same bits by reference or kernel, in place or apart, dense or strided") {
  Floats p, g, m;
  for (int i = 0; i < 37; ++i) {
    const auto x = static_cast<float>(i);
    p.push_back(1 / (x + 1));
    g.push_back(0.3f - x / 7);
    m.push_back(x * x / 11);
  }
  // A moment that fades.
  p.push_back(0);
  g.push_back(0);
  m.push_back(1e-39F);
  const OpHandle op(SgdUpdate{0.9, 0.01, true});
  for (const Way way : all_ways()) {
    CAPTURE(way.kernel, name_of(way.target), way.in_place, way.stride);
    CHECK(run_update(op, {p, g, m}, {0.1f, 0.7f}, way) ==
          run_update(op, {p, g, m}, {0.1f, 0.7f}, {true, way.target, false, 1}));
  }
}

TEST_CASE("sgd_update takes infinite weights without decay, and nothing at all") {
  const float infinity = HUGE_VALF;
  for (const Way way : all_ways()) {
    const auto got = run_update(OpHandle(SgdUpdate{}), {{infinity, 1}, {1, 1}}, {0.5f, 1}, way);
    CHECK(got[0] == Floats{infinity, 0.5f});
    CHECK(run_update(OpHandle(SgdUpdate{0.5, 0, false}), {{}, {}, {}}, {0.5f, 1}, way)[0].empty());
  }
}

TEST_CASE("sgd_update is what the library demands of an op") {
  using wafer::testing::Array;
  std::vector<wafer::testing::Example> plain, with_momentum;
  for (const Shape& shape : {Shape{}, Shape{65}, Shape{3, 7}, Shape{2, 0}}) {
    const Array p = Array::uniform(shape, 1), g = Array::uniform(shape, 2), m = Array::uniform(shape, 3);
    plain.push_back({p, g, Array(0.1f), Array(0.5f)});
    with_momentum.push_back({p, g, m, Array(0.1f), Array(0.5f)});
  }
  CHECK_NOTHROW(wafer::testing::check_op(SgdUpdate{0, 0.01, false}, plain));
  CHECK_NOTHROW(wafer::testing::check_op(SgdUpdate{0.9, 0.01, true}, with_momentum));
}

TEST_CASE("sgd_update names what it expects") {
  const TensorType t{DType::f32, {3}}, other{DType::f32, {4}}, scalar{DType::f32, {}};
  CHECK_NOTHROW(SgdUpdate{}.infer({t, t, scalar, scalar}));
  CHECK_THROWS_AS(SgdUpdate{}.infer({t, other, scalar, scalar}), UserError);
  CHECK_THROWS_AS(SgdUpdate{}.infer({t, t, scalar}), UserError);
  CHECK_THROWS_AS(SgdUpdate{}.infer({}), UserError);
  CHECK_THROWS_AS((SgdUpdate{0.9, 0, false}.infer({t, t, scalar, scalar})), UserError);
  CHECK_THROWS_AS((SgdUpdate{0, 0, true}.infer({t, t, scalar, scalar})), UserError);
  CHECK_THROWS_WITH(SgdUpdate{}.infer({t, t, scalar, {DType::f64, {}}}),
                    Catch::Matchers::ContainsSubstring("got f32[3], f32[3], f32[], f64[]"));
}
