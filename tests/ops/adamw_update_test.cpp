// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/adamw_update.hpp>
#include <wafer/testing/check_op.hpp>

#include "update_fixture.hpp"

using namespace wafer_test;

namespace {

const Floats kStart{1, -0.5f, 0.25f, 2, -3};
const Floats kGradients[3] = {
    {0.1f, -0.2f, 0.3f, 0, 5}, {-0.4f, 0.1f, 0.2f, 1e-4f, -2}, {0.7f, 0, -0.6f, 1e-6f, 1}};

Floats scalars_at(const AdamwUpdate& op, double rate, double weight_decay, int step, float scale) {
  return {static_cast<float>(1 - rate * weight_decay),
          static_cast<float>(rate / (1 - std::pow(op.beta1, step))),
          static_cast<float>(std::sqrt(1 - std::pow(op.beta2, step))), scale};
}

// Parameter and moments after three steps. The gradients come multiplied by 4, and the scale takes it back.
std::vector<Floats> three_steps(const AdamwUpdate& op, double rate, double weight_decay, Way way) {
  std::vector<Floats> state{kStart, Floats(5, 0.0f), Floats(5, 0.0f)};
  for (int step = 1; step <= 3; ++step) {
    Floats scaled = kGradients[step - 1];
    for (float& g : scaled) g *= 4;
    state = run_update(OpHandle(op), {state[0], scaled, state[1], state[2]},
                       scalars_at(op, rate, weight_decay, step, 0.25f), way);
  }
  return state;
}

}  // namespace

// The numbers come from torch.optim.AdamW of PyTorch 1.13.
TEST_CASE("adamw_update makes PyTorch's steps") {
  for (const Way way : all_ways()) {
    CAPTURE(way.kernel, name_of(way.target), way.in_place, way.stride);
    const auto defaults = three_steps({}, 0.01, 0.1, way);
    check_close(defaults[0], {0.989301622f, -0.483801991f, 0.231192574f, 1.98075843f, -3.00823569f});
    check_close(defaults[1], {0.0420999974f, -0.00720000034f, -0.0177000016f, 9.09999926e-06f, 0.324999988f});
    check_close(defaults[2],
                {0.000659820042f, 4.99100424e-05f, 0.000489780155f, 9.99100021e-12f, 0.0299460273f});
    const auto others = three_steps({0.8, 0.95, 1e-3}, 0.01, 0, way);
    check_close(others[0], {0.992307544f, -0.486394912f, 0.232909217f, 1.99916768f, -3.01638222f});
    check_close(others[1], {0.0887999982f, -0.00960000139f, -0.0495999977f, 1.61999997e-05f, 0.520000041f});
    check_close(others[2], {0.0325512514f, 0.00228000013f, 0.0239612516f, 4.75049999e-10f, 1.36812496f});
  }
}

TEST_CASE("adamw_update gives the same bits by reference or kernel, in place or apart, dense or strided") {
  Floats p, g, m, v;
  for (int i = 0; i < 37; ++i) {
    const auto x = static_cast<float>(i);
    p.push_back(1 / (x + 1));
    g.push_back(0.3f - x / 7);
    m.push_back(x / 5 - 2);
    v.push_back(x * x / 11);
  }
  // Moments that fade.
  p.push_back(1);
  g.push_back(0);
  m.push_back(1e-39F);
  v.push_back(1e-39F);
  const OpHandle op(AdamwUpdate{});
  const Floats scalars = scalars_at({}, 1e-3, 0.01, 7, 0.3f);
  for (const Way way : all_ways()) {
    CAPTURE(way.kernel, name_of(way.target), way.in_place, way.stride);
    CHECK(run_update(op, {p, g, m, v}, scalars, way) ==
          run_update(op, {p, g, m, v}, scalars, {true, way.target, false, 1}));
  }
}

TEST_CASE("adamw_update is what the library demands of an op") {
  using wafer::testing::Array;
  std::vector<wafer::testing::Example> examples;
  for (const Shape& shape : {Shape{}, Shape{65}, Shape{3, 7}, Shape{2, 0}}) {
    examples.push_back({Array::uniform(shape, 1), Array::uniform(shape, 2), Array::uniform(shape, 3),
                        Array::uniform(shape, 4, 0.1, 1), Array(0.99f), Array(0.01f), Array(0.3f),
                        Array(0.5f)});
  }
  CHECK_NOTHROW(wafer::testing::check_op(AdamwUpdate{}, examples));
}

TEST_CASE("adamw_update takes nothing at all, and names what it expects") {
  for (const Way way : all_ways()) {
    CHECK(run_update(OpHandle(AdamwUpdate{}), {{}, {}, {}, {}}, {1, 1, 1, 1}, way)[0].empty());
  }
  const TensorType t{DType::f32, {3}}, other{DType::f32, {3, 1}}, s{DType::f32, {}};
  CHECK_NOTHROW(AdamwUpdate{}.infer({t, t, t, t, s, s, s, s}));
  CHECK_THROWS_AS(AdamwUpdate{}.infer({t, t, t, other, s, s, s, s}), UserError);
  CHECK_THROWS_AS(AdamwUpdate{}.infer({t, t, t, t, s, s, s}), UserError);
  CHECK_THROWS_WITH(AdamwUpdate{}.infer({t}), Catch::Matchers::ContainsSubstring("got f32[3]"));
}
