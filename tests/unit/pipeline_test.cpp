// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/pipeline.hpp>
#include "catch.hpp"
#include "random.hpp"

#include <wafer/error.hpp>
#include <wafer/report/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<PipelineKind> kKinds{PipelineKind::gpipe,          PipelineKind::one_f_one_b,
                                       PipelineKind::interleaved,    PipelineKind::zb_h1,
                                       PipelineKind::zb_h2,          PipelineKind::zb_v,
                                       PipelineKind::forward_stream, PipelineKind::weight_stream};

// Of one forward, input gradient and weight gradient of 1 each.
Index closed_form(PipelineKind kind, Index p, Index m) {
  const Index rest = m % p;
  switch (kind) {
    case PipelineKind::gpipe:
    case PipelineKind::one_f_one_b: return 3 * (p - 1);
    case PipelineKind::interleaved: return 3 * (p - 1) + (rest == 0 ? 0 : (m < p ? 3 : 2) * (p - rest));
    case PipelineKind::zb_h1: return 2 * (p - 1) - std::min(m - 1, p - 1);
    case PipelineKind::zb_h2: return 2 * (p - 1) - std::min(m - 1, 2 * (p - 1));
    case PipelineKind::zb_v: return m <= p ? 4 * (p - 1) - 2 * (m - 1) : 2 * std::max<Index>(0, 2 * p - m);
    default: return 0;
  }
}

// The most that lane s may hold, in chunks.
Index most_held(PipelineKind kind, Index p, Index m, Index s) {
  switch (kind) {
    case PipelineKind::gpipe: return m;
    case PipelineKind::one_f_one_b: return std::min(m, p - s);
    case PipelineKind::interleaved: return std::min(2 * m, 2 * (p - 1 - s) + p + 1);
    case PipelineKind::zb_h1: return std::min(m, p);
    case PipelineKind::zb_h2: return std::min(m, 2 * p - 1);
    case PipelineKind::zb_v: return std::min(2 * m, 2 * p);
    case PipelineKind::forward_stream: return 1;
    case PipelineKind::weight_stream: return p * m;
  }
  return 0;
}

// A plain list schedule: each action starts as soon as its lane and what it needs allow, neither sooner nor
// later.
void check_events(const PipelineSchedule& schedule) {
  const std::vector<PipelineEvent> events = schedule.unroll();
  const Index parts = schedule.request.parts();
  std::map<std::tuple<PipelineWork, Index, Index>, Index> ends;
  for (const PipelineEvent& e : events) {
    const bool fresh = ends.emplace(std::tuple{e.work, e.part, e.micro_batch}, e.end).second;
    REQUIRE(fresh);
  }
  std::vector<Index> free(schedule.lanes.size());
  std::size_t faults = 0;
  for (const PipelineEvent& e : events) {
    Index ready = free[static_cast<std::size_t>(e.lane)];
    const auto needs = [&](PipelineWork work, Index part) {
      const auto found = ends.find(std::tuple{work, part, e.micro_batch});
      if (found == ends.end())
        ++faults;
      else
        ready = std::max(ready, found->second);
    };
    const bool forward = e.work == PipelineWork::forward;
    if (forward && e.part > 0) needs(PipelineWork::forward, e.part - 1);
    if (!forward) needs(PipelineWork::forward, e.part);
    if (e.work == PipelineWork::weight_gradient) needs(PipelineWork::input_gradient, e.part);
    if ((e.work == PipelineWork::backward || e.work == PipelineWork::input_gradient) && e.part + 1 < parts)
      needs(e.work, e.part + 1);
    faults += e.start != ready;
    free[static_cast<std::size_t>(e.lane)] = e.end;
  }
  CHECK(faults == 0);
}

}  // namespace

TEST_CASE("pipeline: bubbles are the closed forms, activations within their promises") {
  for (const PipelineKind kind : kKinds) {
    INFO(name_of(kind));
    std::size_t wrong_bubbles = 0, wrong_activations = 0;
    for (Index p = 1; p <= 16; ++p) {
      for (Index m = 1; m <= 64; ++m) {
        const PipelineSchedule schedule = plan_pipeline({kind, p, m});
        wrong_bubbles += schedule.bubble() != closed_form(kind, p, m);
        Index most = 0, promised = 0;
        for (std::size_t l = 0; l < schedule.lanes.size(); ++l) {
          const Index promise = most_held(kind, p, m, static_cast<Index>(l));
          wrong_activations += schedule.lanes[l].held > promise;
          most = std::max(most, schedule.lanes[l].held);
          promised = std::max(promised, promise);
        }
        // A short last group holds less than a full one.
        if (kind != PipelineKind::interleaved || m % p == 0) wrong_activations += most != promised;
      }
    }
    CHECK(wrong_bubbles == 0);
    CHECK(wrong_activations == 0);
  }
}

TEST_CASE("pipeline: shares of the bubble") {
  CHECK(plan_pipeline({PipelineKind::gpipe, 4, 8}).bubble_share() == Approx(3.0 / 11));
  CHECK(plan_pipeline({PipelineKind::one_f_one_b, 16, 64}).bubble_share() == Approx(15.0 / 79));
  CHECK(plan_pipeline({PipelineKind::interleaved, 4, 8, 2}).bubble_share() == Approx(3.0 / 19));
  CHECK(plan_pipeline({PipelineKind::zb_h1, 8, 32}).bubble() * 3 ==
        plan_pipeline({PipelineKind::one_f_one_b, 8, 32}).bubble());
  CHECK(plan_pipeline({PipelineKind::zb_h2, 8, 15}).bubble_share() == 0);
  CHECK(plan_pipeline({PipelineKind::zb_v, 8, 16}).bubble_share() == 0);
  // Forward 0 and gradients 0: nothing to wait for.
  CHECK(plan_pipeline({PipelineKind::zb_v, 8, 16, 2, {{0, 0, 0}}}).bubble_share() == 0);
}

TEST_CASE("pipeline: any durations, the same for all parts") {
  Random random;
  std::size_t wrong = 0;
  for (int k = 0; k < 2000; ++k) {
    const PipelineDurations d{random.between(0, 9), random.between(0, 9), random.between(0, 9)};
    const Index p = random.between(1, 12), m = p * random.between(1, 4), v = random.between(1, 4);
    const Index all = d.forward + d.input_gradient + d.weight_gradient;
    wrong += plan_pipeline({PipelineKind::gpipe, p, m, 1, {d}}).bubble() != (p - 1) * all;
    wrong += plan_pipeline({PipelineKind::one_f_one_b, p, m, 1, {d}}).bubble() != (p - 1) * all;
    wrong += plan_pipeline({PipelineKind::interleaved, p, m, v, {d}}).bubble() != (p - 1) * all;
    if (d.weight_gradient > std::min(d.forward, d.input_gradient)) continue;
    const Index chain = (p - 1) * (d.forward + d.input_gradient);
    wrong += plan_pipeline({PipelineKind::zb_h1, p, m, 1, {d}}).bubble() !=
             chain - std::min(m - 1, p - 1) * d.weight_gradient;
    wrong += plan_pipeline({PipelineKind::zb_h2, p, m, 1, {d}}).bubble() !=
             chain - std::min(m - 1, 2 * (p - 1)) * d.weight_gradient;
  }
  CHECK(wrong == 0);
}

TEST_CASE("pipeline: 10 000 random schedules are those of a plain list scheduler") {
  Random random;
  for (int k = 0; k < 10'000; ++k) {
    PipelineRequest request;
    request.kind = kKinds[static_cast<std::size_t>(random.below(8))];
    request.stages = random.between(1, 6);
    request.micro_batches = random.between(1, random.below(10) == 0 ? 150 : 12);
    request.chunks = random.between(1, 4);
    const Index most = random.below(2) == 0 ? 3 : 100;
    const Index given = random.below(3);
    for (Index part = 0; part < (given == 2 ? request.parts() : given); ++part)
      request.durations.push_back(
          {random.between(0, most), random.between(0, most), random.between(0, most)});
    const PipelineSchedule schedule = plan_pipeline(request);
    schedule.verify();
    if (k % 10 == 0) check_events(schedule);
  }
}

TEST_CASE("pipeline: a schedule is rolled") {
  CHECK(plan_pipeline({PipelineKind::zb_h1, 2, 9}).dump() ==
        "pipeline zb_h1: 2 stages, 9 micro-batches, 28 cycles, period 28, bubble 1\n"
        "lane 0: fill 2 (F); steady 7 x [1 (I W F)]; drain 2 (I W); from 0 to 28, idle 1, holds 2\n"
        "lane 1: fill 1 (F), 1 (I F); steady 7 x [1 (I W F)]; drain 1 (I W), 1 (W); from 1 to 28, idle 0, "
        "holds "
        "2\n");
  for (const PipelineKind kind : kKinds) {
    const Index p = 8, few = 800, many = Index{1} << 33;
    const PipelineSchedule small = plan_pipeline({kind, p, few}), large = plan_pipeline({kind, p, many});
    INFO(name_of(kind));
    const auto lines = [](const PipelineSchedule& s) {
      const std::string text = s.dump();
      return std::count(text.begin(), text.end(), '(');
    };
    CHECK(lines(small) == lines(large));
    CHECK(large.bubble() == small.bubble());
    CHECK(large.period() - small.period() == (many - few) * small.lanes[0].busy / few);
  }
}

TEST_CASE("pipeline: stages that take different times") {
  // The second stage takes 5 in all, the first 3; so one micro-batch in five cycles, and at the ends the
  // first stage's forward and backward.
  const PipelineRequest request{PipelineKind::one_f_one_b, 2, 1'000'000'000'000, 1, {{1, 1, 1}, {2, 2, 1}}};
  const PipelineSchedule schedule = plan_pipeline(request);
  CHECK(schedule.cycles() == 5 * request.micro_batches + 3);
  CHECK(schedule.bubble() == 3);
  CHECK(schedule.lanes[0].idle() == 2 * request.micro_batches + 3);
  CHECK(schedule.lanes[1].start == 1);
  CHECK(schedule.lanes[1].idle() == 0);
  // In GPipe the first stage need not wait for the second, as long as it goes forward.
  const PipelineSchedule ahead = plan_pipeline({PipelineKind::gpipe, 2, 1000, 1, {{1, 1, 1}, {2, 2, 1}}});
  CHECK(ahead.cycles() == 5 * 1000 + 3);
  // Durations far from each other repeat themselves late.
  const PipelineSchedule odd = plan_pipeline(
      {PipelineKind::zb_v, 2, 4001, 2, {{1000003, 7, 11}, {13, 999983, 5}, {3, 3, 1000033}, {999979, 1, 2}}});
  CHECK_NOTHROW(odd.verify());
}

TEST_CASE("pipeline: verify rejects what was changed") {
  const PipelineSchedule right = plan_pipeline({PipelineKind::zb_h1, 3, 9});
  CHECK_NOTHROW(right.verify());
  const auto rejected = [&](auto change) {
    PipelineSchedule wrong = right;
    change(wrong);
    CHECK_THROWS_AS(wrong.verify(), InternalError);
  };
  rejected([](PipelineSchedule& s) { s.lanes[1].rounds -= 1; });
  rejected([](PipelineSchedule& s) { s.lanes[1].rounds += 1; });
  rejected([](PipelineSchedule& s) { s.lanes[0].end += 1; });
  rejected([](PipelineSchedule& s) { s.lanes[2].start -= 1; });
  rejected([](PipelineSchedule& s) { s.lanes[2].busy += 1; });
  rejected([](PipelineSchedule& s) { s.lanes[2].held -= 1; });
  rejected([](PipelineSchedule& s) { s.lanes.pop_back(); });
  rejected([](PipelineSchedule& s) { s.lanes[0].drain[0].body[0].chunk = 1; });
  rejected([](PipelineSchedule& s) { s.lanes[0].drain[0].body[0].chunk = -1; });
  rejected([](PipelineSchedule& s) { s.request.durations = {{1, 2, 1}}; });
  // Stage 0 would wait for a gradient of what it has not sent.
  rejected([](PipelineSchedule& s) { std::swap(s.lanes[0].fill, s.lanes[0].drain); });
  // Weight before input gradient.
  rejected(
      [](PipelineSchedule& s) { std::swap(s.lanes[0].steady[0].body[0], s.lanes[0].steady[0].body[1]); });
  rejected([](PipelineSchedule& s) { s.lanes[0].drain[0].body[0].work = PipelineWork::backward; });
  // No kind of work at all; what shows a schedule gets along with it.
  const auto strange = [](PipelineSchedule& s) { s.lanes[0].fill[0].body[0].work = PipelineWork{200}; };
  rejected(strange);
  PipelineSchedule wrong = right;
  strange(wrong);
  CHECK_THAT(wrong.dump(), ContainsSubstring("(?)"));
  CHECK_THROWS_AS(gantt_svg(wrong), InternalError);
}

TEST_CASE("pipeline: requests that cannot be planned") {
  const auto refused = [](const PipelineRequest& request, const std::string& part) {
    CHECK_THROWS_AS(plan_pipeline(request), UserError);
    CHECK_THROWS_WITH(plan_pipeline(request), ContainsSubstring(part));
  };
  const Index greatest = 9'223'372'036'854'775'807;
  refused({PipelineKind::gpipe, 0, 1}, "pipeline gpipe: expected 1 to 65536 stages, got 0");
  refused({PipelineKind::gpipe, 1, 0}, "micro-batches, got 0");
  refused({PipelineKind::gpipe, greatest, 1}, "stages, got 9223372036854775807");
  refused({PipelineKind::gpipe, 1, greatest}, "micro-batches, got 9223372036854775807");
  refused({PipelineKind::interleaved, 4, 4, 0}, "chunks, got 0");
  refused({PipelineKind::interleaved, 65536, 4, 65536}, "parts (stages times chunks), got 4294967296");
  refused({PipelineKind::zb_v, 4, 4, 2, {{1, 1, 1}, {1, 1, 1}}}, "of each of 8, got 2");
  refused({PipelineKind::zb_h1, 2, 4, 2, {{1, 1, 1}, {1, -1, 1}}},
          "part 1: expected a duration of at least 0 for input_gradient, got -1");
  refused({PipelineKind::zb_h1, 2, 4, 2, {{1, 1, 1}, {1, 1, greatest / 4}}}, "exceed 2^63 - 1");
  refused({static_cast<PipelineKind>(77), 2, 4}, "no such kind");
  // The largest durations that are left are planned.
  CHECK(plan_pipeline({PipelineKind::zb_h1, 1, 1, 2, {{greatest - 2, 1, 1}}}).cycles() == greatest);
  // Rolled, yet not to be unrolled.
  const PipelineSchedule long_one = plan_pipeline({PipelineKind::zb_h1, 4, Index{1} << 40});
  CHECK_THROWS_AS(long_one.verify(), UserError);
  CHECK_THROWS_AS(long_one.unroll(), UserError);
}

TEST_CASE("pipeline: each chunk has a shade of its own") {
  const std::string svg = gantt_svg(plan_pipeline({PipelineKind::interleaved, 2, 4, 4}));
  for (const std::string shade : {"0.77", "0.53", "0.3"})
    CHECK_THAT(svg, ContainsSubstring("opacity=\"" + shade + "\"><title>backward of micro-batch 3, part"));
  CHECK_THAT(gantt_svg(plan_pipeline({PipelineKind::gpipe, 2, 4})), !ContainsSubstring("paler"));
}

TEST_CASE("pipeline: a Gantt chart") {
  const PipelineSchedule schedule = plan_pipeline({PipelineKind::zb_v, 2, 4});
  const std::string svg = gantt_svg(schedule);
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("<title>forward of micro-batch") == 16);
  CHECK(count("<title>input gradient of micro-batch") == 16);
  CHECK(count("<title>weight gradient of micro-batch 3, part 3") == 1);
  CHECK(count("zb_v: 2 stages, 4 micro-batches; modelled bubble 0 of 24 cycles (0.0 %)") == 1);
  CHECK(count("paler: later of 2 chunks on a lane") == 1);
  CHECK(count("opacity=\"0.65\"") == 24);  // the second chunk's
  CHECK(gantt_svg(schedule, {0, 2}).size() < svg.size());
  CHECK_THROWS_AS(gantt_svg(schedule, {5, 5}), UserError);
  CHECK_THROWS_AS(gantt_svg(schedule, {-1, 5}), UserError);
  CHECK_THROWS_AS(gantt_svg(plan_pipeline({PipelineKind::gpipe, 16, 4000})), UserError);
  CHECK(gantt_svg(plan_pipeline({PipelineKind::gpipe, 16, 4000}), {6000, 6100}).size() > 1000);
}
