// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/error.hpp>
#include <wafer/testing/hooks.hpp>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <stop_token>
#include <thread>

using namespace faulty;

TEST_CASE("a stop request cancels a step, which changes nothing") {
  const Watchdog watchdog("stop requests", 60);
  for (const Layout& layout : {Layout{}, Layout{2, 2, true, true}, Layout{1, 3, true, false, 3}}) {
    const Executable executable = compile_network(layout);
    for (Index threads : {1, 2, 8}) {
      INFO(layout.text() << ", threads " << threads);
      Session session{executable, {.threads = threads}}, other{executable, {.threads = 1}};
      train(session, Rows{});
      train(other, Rows{});
      const std::vector<std::vector<float>> before = variables(session);
      std::stop_source early;
      early.request_stop();
      CHECK_THROWS_AS(train(session, Rows{}, early.get_token()), RunError);
      CHECK(variables(session) == before);
      {
        // The last row of the last micro-batch, so that what may follow is the epilogue and the commit.
        std::stop_source during;
        const Acting acting([&](Index row) {
          if (row == kBatch - 1) during.request_stop();
        });
        CHECK_THROWS_AS(train(session, Rows{}, during.get_token()), RunError);
      }
      CHECK(variables(session) == before);
      CHECK(session.steps() == 1);
      std::stop_source never;
      train(session, Rows{}, never.get_token());
      train(other, Rows{});
      CHECK(variables(session) == variables(other));
    }
  }
}

TEST_CASE("what a host's threads do to rounding changes no bit, and is left as it was") {
  const Executable executable = compile_network({2, 2, true, true});
  for (const Index threads : {1, 3}) {
    Session session{executable, {.threads = threads}};
    for (int k = 0; k < 3; ++k) train(session, Rows(kBatch, k));
    REQUIRE(std::fesetround(FE_UPWARD) == 0);
    Session other{executable, {.threads = threads}};
    for (int k = 0; k < 3; ++k) train(other, Rows(kBatch, k));
    const int rounding = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(rounding == FE_UPWARD);
    CHECK(variables(session) == variables(other));
  }
}

TEST_CASE("sessions on two threads share an executable") {
  const Watchdog watchdog("two sessions", 60);
  const Executable executable = compile_network({2, 2, true, true});
  std::vector<std::vector<float>> weights[2];
  double losses[2] = {};
  std::thread threads[2];
  for (int s = 0; s < 2; ++s) {
    threads[s] = std::thread([&, s] {
      Session session{executable, {.threads = 2}};
      for (int k = 0; k < 50; ++k) losses[s] = train(session, Rows(kBatch, k))["loss"].scalar();
      weights[s] = variables(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Session session{executable, {.threads = 1}};
  double loss = 0;
  for (int k = 0; k < 50; ++k) loss = train(session, Rows(kBatch, k))["loss"].scalar();
  CHECK(loss == losses[0]);
  CHECK(loss == losses[1]);
  CHECK(weights[0] == variables(session));
  CHECK(weights[1] == variables(session));
}

TEST_CASE("a second thread on one session is refused while a step runs") {
  const Watchdog watchdog("a second thread", 60);
  Session session{compile_network(), {.threads = 2}};
  std::atomic<bool> inside{false}, refused{false};
  std::atomic<int> run_errors{0};
  const Acting acting([&](Index row) {
    if (row != 0 || inside.exchange(true)) return;
    while (!refused.load()) std::this_thread::yield();
  });
  std::thread second([&] {
    while (!inside.load()) std::this_thread::yield();
    try {
      train(session, Rows{});
    } catch (const RunError&) {
      run_errors.fetch_add(1);
    }
    try {
      session.get("fc1.weight");
    } catch (const RunError&) {
      run_errors.fetch_add(1);
    }
    refused.store(true);
  });
  const double loss = train(session, Rows{})["loss"].scalar();
  second.join();
  CHECK(run_errors.load() == 2);
  CHECK(std::isfinite(loss));
  CHECK(session.steps() == 1);
}

namespace {

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> weights;
  std::vector<float> logits;
  double correct = 0;
};

Trained trained(const Layout& layout, Index rows) {
  Session session{compile_network(layout), {.threads = 2}};
  Trained out;
  for (int k = 0; k < 5; ++k) out.losses.push_back(train(session, Rows(rows, k))["loss"].scalar());
  for (const VariableDescription& variable : session.variables()) {
    if (variable.trained) out.weights.push_back(session.get(variable.path));
  }
  const Result result = eval(session, Rows(rows, 9));
  const std::span<const float> logits = result["logits"].values<float>();
  out.logits.assign(logits.begin(), logits.end());
  out.correct = result["correct"].scalar();
  return out;
}

}  // namespace

TEST_CASE("micro-batches and cuts cannot be seen in the bits, whatever the batch") {
  const Watchdog watchdog("extents", 120);
  std::vector<Layout> layouts;
  for (Index micro : {1, 2, 3, 5}) {
    layouts.push_back({0, 0, false, false, micro});
    layouts.push_back({2, 2, false, false, micro});
    // A micro-batch of one row cannot be cut.
    if (micro < 5) layouts.push_back({2, 2, true, true, micro});
    if (micro < 5) layouts.push_back({1, 3, true, false, micro});
    layouts.push_back({1, 3, false, true, micro});
  }
  for (Index rows : {7, 5, 1}) {
    const Trained expected = trained({}, rows);
    CHECK(expected.losses.at(0) > 0);
    CHECK(static_cast<Index>(expected.logits.size()) == rows * kClasses);
    for (const Layout& layout : layouts) {
      INFO("rows " << rows << ", " << layout.text());
      const Trained got = trained(layout, rows);
      CHECK(got.losses == expected.losses);
      CHECK(got.weights == expected.weights);
      CHECK(got.logits == expected.logits);
      CHECK(got.correct == expected.correct);
    }
  }
}

// The mean over no rows is 0/0, as everywhere. Gradients of weights are sums over no rows, and so 0.
TEST_CASE("a batch of no rows gives a loss that is not a number") {
  const Watchdog watchdog("empty batches", 60);
  for (const Layout& layout :
       {Layout{}, Layout{0, 0, false, false, 3}, Layout{2, 2, true, true, 2}, Layout{1, 3, false, true, 5}}) {
    INFO(layout.text());
    Session session{compile_network(layout), {.threads = 2}};
    const std::vector<std::vector<float>> before = variables(session);
    const Result result = eval(session, Rows(0));
    CHECK(std::isnan(result["loss"].scalar()));
    CHECK(result["logits"].shape() == Shape{0, kClasses});
    CHECK(result["logits"].values<float>().empty());
    CHECK(result["correct"].scalar() == 0);
    CHECK(variables(session) == before);
    CHECK(eval(session, Rows{})["loss"].scalar() > 0);
    CHECK(std::isnan(train(session, Rows(0))["loss"].scalar()));
    CHECK(session.steps() == 1);
    for (const std::vector<float>& values : variables(session))
      CHECK(std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }));
    CHECK(train(session, Rows{})["loss"].scalar() > 0);
  }
}

TEST_CASE("workers gather on as many threads as asked for") {
  const Watchdog watchdog("gathering", 60);
  Session session{compile_network({2, 2, true, true}), {.threads = 3}};
  const Gathering gathering(session);
  train(session, Rows{});
  CHECK(gathering.threads() == 3);
  CHECK(statistics(session).blocks == 4);
  CHECK(statistics(session).moved_bytes > 0);
  clear_statistics(session);
  CHECK(statistics(session).blocks == 0);
  CHECK(statistics(session).workers == 0);
  CHECK(statistics(session).moved_bytes == 0);
}
