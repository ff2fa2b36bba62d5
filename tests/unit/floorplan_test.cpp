// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/report/floorplan.hpp>

#include "catch.hpp"
#include "floorplan_fixture.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;

namespace {

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
