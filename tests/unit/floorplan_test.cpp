// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/floorplan.hpp>
#include <wafer/error.hpp>
#include <wafer/report/floorplan.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "temp_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer_test::message_of;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

FloorKernel kernel(std::vector<KernelShape> shapes, bool may_turn = true) {
  return {std::move(shapes), may_turn};
}

FloorRequest mesh(Index rows, Index columns, std::vector<FloorKernel> kernels) {
  FloorRequest request;
  request.rows = rows;
  request.columns = columns;
  request.kernels = std::move(kernels);
  return request;
}

FloorPlan planned(const FloorRequest& request) {
  FloorPlan plan = plan_floor(request);
  plan.verify(request);
  return plan;
}

// The best score of all choices and places; infinity where nothing is legal.
class BruteForce {
 public:
  explicit BruteForce(const FloorRequest& request) : r_(request), places_(request.kernels.size()) {}
  double score() {
    place(0, 0);
    return best_;
  }

 private:
  bool taken(Index row, Index column, std::size_t placed) const {
    const auto in = [&](const FloorRectangle& p) {
      return row >= p.row && row < p.row + p.height && column >= p.column && column < p.column + p.width;
    };
    return std::any_of(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(placed), in) ||
           std::any_of(r_.faulty.begin(), r_.faulty.end(), in);
  }
  bool fits(const FloorRectangle& p, std::size_t placed) const {
    for (Index row = p.row; row < p.row + p.height; ++row) {
      for (Index column = p.column; column < p.column + p.width; ++column) {
        if (taken(row, column, placed)) return false;
      }
    }
    return true;
  }
  double length(std::size_t placed) const {
    double sum = 0;
    for (const FloorConnection& c : r_.connections) {
      const auto a = static_cast<std::size_t>(c.from), b = static_cast<std::size_t>(c.to);
      if (a >= placed || b >= placed) continue;
      const auto middle = [](Index begin, Index size) { return static_cast<double>(2 * begin + size) / 2; };
      const FloorRectangle &p = places_[a], &q = places_[b];
      const double down = middle(p.row, p.height) - middle(q.row, q.height),
                   across = middle(p.column, p.width) - middle(q.column, q.width);
      sum += c.weight * (std::max(down, -down) + std::max(across, -across));
    }
    return sum;
  }
  void place(std::size_t k, double time) {
    const double so_far = r_.time_weight * time + r_.length_weight * length(k);
    if (so_far >= best_) return;
    if (k == places_.size()) best_ = so_far;
    if (k == places_.size()) return;
    for (const KernelShape& shape : r_.kernels[k].shapes) {
      for (const bool turned : {false, true}) {
        if (turned && (!r_.kernels[k].may_turn || shape.height == shape.width)) continue;
        const Index height = turned ? shape.width : shape.height, width = turned ? shape.height : shape.width;
        for (Index row = 0; row + height <= r_.rows; ++row) {
          for (Index column = 0; column + width <= r_.columns; ++column) {
            places_[k] = {row, column, height, width};
            if (fits(places_[k], k)) place(k + 1, std::max(time, shape.time));
          }
        }
      }
    }
  }

  const FloorRequest& r_;
  std::vector<FloorRectangle> places_;
  double best_ = kInfinity;
};

FloorRequest random_request(Random& random) {
  FloorRequest request = mesh(6, 6, {});
  const Index kernels = 1 + random.below(4);
  for (Index k = 0; k < kernels; ++k) {
    FloorKernel& added = request.kernels.emplace_back();
    added.may_turn = kernels < 4 && random.below(2) == 0;
    for (Index s = kernels < 4 ? random.below(2) : 0; s >= 0; --s) {
      KernelShape shape;
      shape.height = 1 + random.below(4);
      shape.width = (kernels < 4 ? 1 : 2) + random.below(3);
      shape.time = static_cast<double>(1 + random.below(20));
      added.shapes.push_back(shape);
    }
    if (k > 0) {
      const auto to = static_cast<std::int32_t>(k);
      request.connections.push_back({static_cast<std::int32_t>(random.below(k)), to, 1});
      if (random.below(3) == 0) request.connections.push_back({to, 0, 0.5});
    }
  }
  if (random.below(4) == 0) request.faulty.push_back({random.below(6), 0, 1, 6});
  if (random.below(4) == 0) request.faulty.push_back({random.below(5), random.below(5), 2, 1});
  request.length_weight = static_cast<double>(random.below(3));
  return request;
}

}  // namespace

TEST_CASE("floor plan: one kernel takes its fastest shape that fits") {
  const FloorRequest request = mesh(4, 6, {kernel({{2, 2, 9, 0}, {6, 3, 3, 0}, {5, 5, 1, 0}})});
  const FloorPlan plan = planned(request);
  CHECK(plan.time == 3);
  CHECK(plan.kernels[0].shape == 1);
  CHECK(plan.kernels[0].turned);  // 6 x 3 does not fit in 4 rows
  CHECK(plan.time_bound == 3);
  CHECK(plan.length == 0);
}

TEST_CASE("floor plan: no kernels is a plan") { CHECK(plan_floor(mesh(3, 3, {})).kernels.empty()); }

TEST_CASE("floor plan: four squares fill a mesh, connected ones side by side") {
  FloorRequest request = mesh(6, 6, std::vector<FloorKernel>(4, kernel({{3, 3, 5, 0}})));
  request.connections = {{0, 1}, {1, 2}, {2, 3}};
  const FloorPlan plan = planned(request);
  CHECK(plan.utilisation == 1);
  CHECK(plan.time == 5);
  CHECK(plan.length == 9);
  CHECK(plan.score == 14);
}

TEST_CASE("floor plan: weights decide between a fast kernel and a short way") {
  // Fast shapes lie 4 apart, small ones 1.
  FloorRequest request = mesh(4, 8, std::vector<FloorKernel>(2, kernel({{4, 4, 10, 0}, {1, 1, 12, 0}})));
  request.connections = {{0, 1}};
  CHECK(planned(request).time == 12);
  CHECK(planned(request).score == 13);
  request.length_weight = 0.5;
  CHECK(planned(request).time == 10);
  request.length_weight = 1;
  request.most_time = 11;
  CHECK(planned(request).score == 14);
}

TEST_CASE("floor plan: faulty cores stay free") {
  FloorRequest request = mesh(5, 5, std::vector<FloorKernel>(2, kernel({{2, 5, 1, 0}})));
  request.faulty = {{2, 0, 1, 5}};
  const FloorPlan plan = planned(request);
  CHECK(plan.utilisation == 1);
  request.faulty = {{1, 1, 1, 1}};
  CHECK_THROWS_AS(plan_floor(request), CompileError);  // only three rows in one piece
  request.kernels[1] = kernel({{1, 4, 2, 0}});
  CHECK(planned(request).time == 2);
}

TEST_CASE("floor plan: many kernels find their places on a mesh with faults") {
  Random random(5);
  for (int round = 0; round < 30; ++round) {
    FloorRequest request = mesh(60, 80, {});
    for (std::int32_t k = 0; k < 20; ++k) {
      const Index area = 60 + random.below(60);
      FloorKernel& added = request.kernels.emplace_back();
      for (const Index height : {4, 6, 9, 13})
        added.shapes.push_back({height, area / height + 1, static_cast<double>(10'000 / area), 0});
      if (k > 0) request.connections.push_back({k - 1, k});
    }
    request.faulty = {{random.below(60), 0, 1, 80}, {random.below(50), random.below(70), 5, 3}};
    request.effort = 3'000'000;
    const FloorPlan plan = planned(request);
    CHECK(plan.time >= plan.time_bound);
    CHECK(plan_floor(request).kernels == plan.kernels);
  }
}

TEST_CASE("floor plan: more kernels than one table takes") {
  FloorRequest request = mesh(33, 22, std::vector<FloorKernel>(150, kernel({{2, 2, 1, 0}})));
  for (std::int32_t k = 1; k < 150; ++k) request.connections.push_back({k - 1, k});
  request.effort = 20'000'000;
  const FloorPlan plan = planned(request);
  CHECK(plan.time == 1);
  CHECK(plan.length >= 2 * 149);
  CHECK(plan.length <= 3 * 149);
}

TEST_CASE("floor plan: 10 000 random cases of up to 4 kernels on 6 x 6 cores against brute force") {
  Random random(1);
  int legal = 0;
  for (int round = 0; round < 10'000; ++round) {
    const FloorRequest request = random_request(random);
    const double best = BruteForce(request).score();
    if (best == kInfinity) {
      REQUIRE_THROWS_AS(plan_floor(request), CompileError);
      continue;
    }
    const FloorPlan plan = plan_floor(request);
    plan.verify(request);
    REQUIRE(plan.score >= best - 1e-9);
    REQUIRE(plan.score <= 1.05 * best);
    ++legal;
  }
  CHECK(legal > 7000);
}

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

TEST_CASE("floor plan: any limit of the work") {
  FloorRequest request = mesh(60, 60, std::vector<FloorKernel>(10, kernel({{10, 18, 5, 0}, {9, 16, 4, 0}})));
  request.length_weight = 0;
  for (const Index effort : {std::numeric_limits<Index>::min(), Index{-1}, Index{0}}) {
    request.effort = effort;
    CHECK(planned(request).kernels.size() == 10);
  }
  // All kernels are as fast as they can be at once, so there is nothing to search for.
  request.kernels.resize(2);
  request.effort = std::numeric_limits<Index>::max();
  CHECK(planned(request).time == 4);
}

TEST_CASE("floor plan: its picture shows kernels, faults and utilisation") {
  FloorRequest request = mesh(5, 5, std::vector<FloorKernel>(2, kernel({{2, 5, 1, 0}})));
  request.faulty = {{2, 0, 1, 5}};
  request.connections = {{0, 1}};
  const FloorPlan plan = planned(request);
  const std::vector<std::string> names{"first<", "second"};
  const std::string svg = floorplan_svg(request, plan, names);
  CHECK_THAT(svg, ContainsSubstring("utilisation 100.0 %") && ContainsSubstring("faulty cores") &&
                      ContainsSubstring("first&lt;: 2 x 5 cores") && ContainsSubstring("modelled"));
  // No line is drawn after the first name.
  const std::size_t name = svg.find(">first&lt;</text>"), line = svg.rfind("<line");
  REQUIRE(name != svg.npos);
  CHECK(line < name);
  CHECK_THROWS_AS(floorplan_svg(request, FloorPlan{}), UserError);
}

TEST_CASE("floor plan: its picture's shades go from the least share of the longest time to all of it") {
  FloorRequest request = mesh(1, 2, {kernel({{1, 1, 9, 0}}), kernel({{1, 1, 10, 0}})});
  const std::string svg = floorplan_svg(request, planned(request));
  CHECK_THAT(svg, ContainsSubstring(">90.0 %</text>") && ContainsSubstring(">100 % of the longest time<"));
  // White to the colour of a load of 0.5 to dark red: loads of 0.04 and of 0.62.
  CHECK_THAT(
      svg, ContainsSubstring("fill=\"#fff3f1\" stroke=\"#222222\" stroke-width=\"0.7\"><title>kernel 0") &&
               ContainsSubstring("fill=\"#e3513b\" stroke=\"#222222\" stroke-width=\"0.7\"><title>kernel 1"));
}

TEST_CASE("floor plan: random changes are the same ones with every compiler") {
  std::uint32_t state = 14;
  const auto below = [&](Index limit) {
    state = state * 1664525 + 1013904223;
    return static_cast<Index>(state >> 8) % limit;
  };
  FloorRequest request = mesh(60, 70, {});
  for (int k = 0; k < 14; ++k) {
    const auto work = static_cast<double>(3 + below(6));
    FloorKernel shapes;
    for (int s = 0; s < 5; ++s) {
      const Index height = 1 + below(12), width = 1 + below(12);
      shapes.shapes.push_back({height, width, 1000.0 / static_cast<double>(height * width) * work, 0});
    }
    request.kernels.push_back(shapes);
  }
  for (std::int32_t k = 0; k + 1 < 14; ++k) request.connections.push_back({k, k + 1, 1});
  for (int c = 0; c < 14; ++c) {
    const auto from = static_cast<std::int32_t>(below(14)), to = static_cast<std::int32_t>(below(14));
    request.connections.push_back({from, to, 0.5});
  }
  request.effort = 20'000'000;
  CHECK(planned(request).score == 375.12121212121212);
}
