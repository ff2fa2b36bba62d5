// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/report/floorplan.hpp>

#include "catch.hpp"
#include "floorplan_fixture.hpp"
#include "temp_folder.hpp"

#include <limits>
#include <vector>

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("floor plan: what contradicts itself is named") {
  const auto message = [](const FloorRequest& request) {
    return message_of<UserError>([&] { plan_floor(request); });
  };
  CHECK_THAT(message(mesh(0, 4, {})), ContainsSubstring("got 0 x 4"));
  CHECK_THAT(message(mesh(4, 5000, {})), ContainsSubstring("got 4 x 5000"));
  const FloorKernel fine = kernel({{1, 1, 1, 0}});
  CHECK_THAT(message(mesh(4, 4, {fine, kernel({{1, 0, 1, 0}})})), ContainsSubstring("kernel 1"));
  CHECK_THAT(message(mesh(4, 4, {kernel({{1, 1, -1, 0}})})), ContainsSubstring("kernel 0"));
  CHECK_THAT(message(mesh(4, 4, {kernel({{1, 1, kInfinity, 0}})})), ContainsSubstring("kernel 0"));
  CHECK_THAT(message(mesh(4, 4, {kernel({{1, 1, 1, -7}})})), ContainsSubstring("memory -7"));
  FloorRequest request = mesh(4, 4, {fine, fine});
  request.connections = {{0, 1}, {1, 2}};
  CHECK_THAT(message(request), ContainsSubstring("connection 1") && ContainsSubstring("to 2 of 2"));
  request.connections = {{0, 1, -1}};
  CHECK_THAT(message(request), ContainsSubstring("connection 0"));
  request.connections.clear();
  request.faulty = {{0, 0, 1, 1}, {3, 0, 2, 1}};
  CHECK_THAT(message(request), ContainsSubstring("faulty rectangle 1"));
  request.faulty = {{std::numeric_limits<Index>::max(), 0, 1, 1}};
  CHECK_THAT(message(request), ContainsSubstring("faulty rectangle 0"));
  request.faulty.clear();
  request.length_weight = -1;
  CHECK_THAT(message(request), ContainsSubstring("weights"));
}

TEST_CASE("floor plan: what cannot fit is named") {
  const auto message = [](const FloorRequest& request) {
    return message_of<CompileError>([&] { plan_floor(request); });
  };
  const FloorKernel fine = kernel({{1, 1, 1, 9}});
  CHECK(message(mesh(4, 4, {fine, kernel({{5, 1, 1, 0}, {1, 6, 1, 0}})})) ==
        "floor plan: kernel 1: none of its 2 shapes fits in 4 x 4 cores");
  CHECK(message_of<UserError>([&] {
          plan_floor(mesh(4, 4, {fine, kernel({})}));
        }) == "floor plan: kernel 1: expected at least one shape, got none");
  CHECK_THAT(message(mesh(2, 2, std::vector<FloorKernel>(5, fine))),
             ContainsSubstring("at least 5 cores, 4 work"));
  FloorRequest request = mesh(4, 4, {fine});
  request.memory_limit = 8;
  CHECK(message(request) ==
        "floor plan: kernel 0: its one shape does not fit in the memory limit of 8 (the least is 9)");
  request.memory_limit = 9;
  CHECK(planned(request).time == 1);
  request.most_time = 0.5;
  CHECK(message(request) ==
        "floor plan: kernel 0: its one shape does not fit in the longest time of 0.5 (the fastest takes 1)");
  // Each limit is kept by a shape, but all by none.
  request.kernels = {kernel({{1, 1, 1, 9}, {1, 1, 0.25, 10}})};
  CHECK(message(request) ==
        "floor plan: kernel 0: none of its 2 shapes fits in 4 x 4 cores, the memory "
        "limit of 9, the longest time of 0.5 at once");
  request = mesh(1, 1, {fine});
  request.faulty = {{0, 0, 1, 1}};
  CHECK_THAT(message(request), ContainsSubstring("1 cores, 0 work"));
  // Enough cores, but not in one piece.
  request = mesh(3, 3, std::vector<FloorKernel>(2, kernel({{2, 2, 1, 0}})));
  CHECK_THAT(message(request), ContainsSubstring("no legal places"));
}

TEST_CASE("floor plan: verify refuses what is wrong") {
  FloorRequest request = mesh(4, 4, {kernel({{2, 2, 1, 0}, {1, 3, 2, 0}}, false), kernel({{2, 2, 1, 0}})});
  request.connections = {{0, 1}};
  request.faulty = {{3, 3, 1, 1}};
  const FloorPlan good = planned(request);
  const auto refused = [&](auto change) {
    FloorPlan bad = good;
    change(bad);
    return message_of<InternalError>([&] { bad.verify(request); });
  };
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels.pop_back(); }), ContainsSubstring("expected 2 kernels"));
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels[1].place = p.kernels[0].place; }),
             ContainsSubstring("meets kernel 0"));
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels[1].place.row = 3; }), ContainsSubstring("leaves the mesh"));
  CHECK_THAT(refused([](FloorPlan& p) {
               p.kernels[1].place = {2, 2, 2, 2};
             }),
             ContainsSubstring("faulty core"));
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels[0].shape = 1; }), ContainsSubstring("extent of its shape"));
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels[0].shape = 2; }), ContainsSubstring("does not exist"));
  CHECK_THAT(refused([](FloorPlan& p) { p.kernels[0].turned = true; }), ContainsSubstring("is turned"));
  CHECK_THAT(refused([](FloorPlan& p) { p.time = 2; }), ContainsSubstring("slowest"));
  CHECK_THAT(refused([](FloorPlan& p) { p.length += 1; }), ContainsSubstring("long"));
  CHECK_THAT(refused([](FloorPlan& p) { p.score += 1; }), ContainsSubstring("score"));
  CHECK_THAT(refused([](FloorPlan& p) { p.utilisation = 1; }), ContainsSubstring("share"));
  for (const double bound : {5.0, 0.5, 0.0, -kInfinity, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THAT(refused([&](FloorPlan& p) { p.time_bound = bound; }), ContainsSubstring("no plan is faster"));
  for (double FloorPlan::*figure : {&FloorPlan::time, &FloorPlan::length, &FloorPlan::score,
                                    &FloorPlan::utilisation, &FloorPlan::time_bound}) {
    for (const double value : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1e300, -1.0})
      CHECK_THAT(refused([&](FloorPlan& p) { p.*figure = value; }), ContainsSubstring("floor plan"));
  }
  CHECK_THROWS_AS(floorplan_svg(request, FloorPlan{good.kernels}), InternalError);
}

TEST_CASE("floor plan: verify refuses wrong figures in any unit of time") {
  FloorRequest request = mesh(4, 4, {kernel({{2, 2, 1e-12, 0}}), kernel({{2, 2, 3e-12, 0}})});
  request.length_weight = 0;
  FloorPlan plan = planned(request);
  CHECK(plan.time_bound == 3e-12);
  plan.time = plan.score = 9e-12;
  CHECK_THROWS_AS(plan.verify(request), InternalError);
  plan.time = 3e-12;
  CHECK_THROWS_AS(plan.verify(request), InternalError);
  plan.score = 3e-12;
  CHECK_NOTHROW(plan.verify(request));
  request.most_time = 2e-12;
  CHECK_THAT(message_of<InternalError>([&] { plan.verify(request); }),
             ContainsSubstring("slower than it may"));
}

TEST_CASE("floor plan: verify refuses requests that contradict themselves") {
  const FloorRequest right = mesh(4, 4, {kernel({{2, 2, 1, 0}}), kernel({{2, 2, 1, 0}})});
  const FloorPlan plan = planned(right);
  const auto refused = [&](auto change) {
    FloorRequest wrong = right;
    change(wrong);
    CHECK_THROWS_AS(plan.verify(wrong), UserError);
    CHECK_THROWS_AS(floorplan_svg(wrong, plan), UserError);
  };
  refused([](FloorRequest& r) { r.rows = -1; });
  refused([](FloorRequest& r) { r.rows = r.columns = Index{1} << 40; });
  refused([](FloorRequest& r) { r.faulty = {{100, 100, 1, 1}}; });
  refused([](FloorRequest& r) { r.connections = {{0, 700}}; });
  refused([](FloorRequest& r) { r.connections = {{-9, 0}}; });
}

TEST_CASE("floor plan: sums beyond all numbers name the culprit") {
  FloorRequest request = mesh(4, 4, {kernel({{2, 2, 1e10, 0}}), kernel({{2, 2, 1, 0}})});
  request.time_weight = 1e300;
  CHECK_THAT(message_of<UserError>([&] { plan_floor(request); }), ContainsSubstring("kernel 0"));
  request.time_weight = 1;
  request.connections = {{0, 1, 1e299}, {1, 0, 1e308}};
  CHECK_THAT(message_of<UserError>([&] { plan_floor(request); }), ContainsSubstring("connection 1"));
}
