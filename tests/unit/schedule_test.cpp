// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/step_number.hpp>
#include <wafer/optim/schedule.hpp>
#include <wafer/testing/interpreter.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <numbers>

using namespace wafer;

namespace {

// The rate of one step, by itself: nothing is carried from step to step, so resuming anywhere gives the same.
double rate_at(const Schedule& schedule, Index step) {
  Graph graph;
  const Tensor rate = schedule.at(step_number(graph));
  return testing::Interpreter(graph, {.step = step}).value(rate).values<double>()[0];
}

}  // namespace

TEST_CASE("a number is a constant rate") {
  CHECK(rate_at(0.3, 1) == 0.3);
  CHECK(rate_at(1, 1000) == 1.0);
}

TEST_CASE("warm-up learns from the first step on and has no gap where it ends") {
  const double expected[] = {0.25, 0.5, 0.75, 1, 1, 1};
  for (Index t = 1; t <= 6; ++t) CHECK(rate_at(warmup(1, 4), t) == expected[t - 1]);
  CHECK(rate_at(warmup(0.5, 0), 1) == 0.5);
  CHECK(rate_at(warmup(0.5, 1), 1) == 0.5);
}

TEST_CASE("warm-up and cosine give the closed form") {
  const Schedule schedule = warmup_cosine(0.1, 4, 100, 0.001);
  for (Index t = 1; t <= 120; ++t) {
    const double turn = std::numbers::pi * static_cast<double>(std::min<Index>(t, 100) - 4) / 96;
    const double expected =
        t <= 4 ? 0.1 * static_cast<double>(t) / 4 : 0.001 + (0.1 - 0.001) * 0.5 * (1 + std::cos(turn));
    CHECK(rate_at(schedule, t) == Approx(expected).epsilon(1e-14));
  }
  CHECK(rate_at(schedule, 4) == 0.1);
  CHECK(rate_at(schedule, 5) == Approx(0.0999734970800801).epsilon(1e-14));
  CHECK(rate_at(schedule, 50) == Approx(0.053737454896892085).epsilon(1e-14));
  CHECK(rate_at(schedule, 100) == 0.001);
  CHECK(rate_at(schedule, 1'000'000) == 0.001);
  CHECK(rate_at(warmup_cosine(0.1, 4, 100), 100) == 0.0);
}

// torch.optim.lr_scheduler.CosineAnnealingLR of PyTorch 1.13 after t steps.
TEST_CASE("cosine gives PyTorch's rates") {
  const double expected[] = {0.09779754323328192,
                             0.09140576474687263,
                             0.08145033635316129,
                             0.06890576474687264,
                             0.05500000000000001,
                             0.04109423525312737,
                             0.028549663646838717,
                             0.01859423525312737,
                             0.012202456766718092,
                             0.01,
                             0.01};
  for (Index t = 1; t <= 11; ++t)
    CHECK(rate_at(cosine(0.1, 10, 0.01), t) == Approx(expected[t - 1]).epsilon(1e-13));
}

TEST_CASE("schedules without a falling or a rising part") {
  const Schedule only_warmup = warmup_cosine(1, 4, 4, 0.5);
  CHECK(rate_at(only_warmup, 3) == 0.75);
  CHECK(rate_at(only_warmup, 4) == 1.0);
  CHECK(rate_at(only_warmup, 5) == 0.5);
  CHECK(rate_at(cosine(1, 0, 0.25), 1) == 0.25);
  CHECK(rate_at(cosine(1, 1, 0.25), 1) == 0.25);
}

TEST_CASE("a schedule may rise to a greater last rate") {
  CHECK(rate_at(cosine(0.1, 10, 0.5), 5) == Approx(0.3));
  CHECK(rate_at(cosine(0.1, 10, 0.5), 10) == 0.5);
}

TEST_CASE("schedules of one's own are functions of the step") {
  const Schedule inverse([](Tensor step) { return 2.0 / step; });
  CHECK(rate_at(inverse, 8) == 0.25);
}

TEST_CASE("schedules refuse what is no rate") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(warmup(-1, 4), UserError);
  CHECK_THROWS_AS(warmup(1, -1), UserError);
  CHECK_THROWS_AS(warmup_cosine(1, 5, 4), UserError);
  CHECK_THROWS_AS(warmup_cosine(1, -1, 4), UserError);
  CHECK_THROWS_AS(cosine(std::nan(""), 4), UserError);
  CHECK_THROWS_AS(cosine(1, 4, infinity), UserError);
  CHECK_THROWS_AS(rate_at(-0.1, 1), UserError);
  CHECK_THROWS_AS(rate_at(infinity, 1), UserError);
  CHECK_THROWS_AS(rate_at([](Tensor) { return Tensor{}; }, 1), UserError);
  CHECK_THROWS_AS(rate_at([](Tensor step) { return step.graph().constant(1); }, 1), UserError);
  CHECK_THROWS_AS(rate_at([](Tensor) { return Graph{}.constant(1, DType::f64); }, 1), UserError);
}
