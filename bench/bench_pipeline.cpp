// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Modelled bubbles and activations of pipeline schedules against their closed forms, for p = 2...16 stages
// and m = 1...64 micro-batches (forward, input gradient, weight gradient 1 : 1 : 1; two chunks on each stage
// where interleaved), and the time to plan 512 stages of 4096 micro-batches. Prints
// `pipeline_<kind>_p<p>_m<m> bubble V`, `closed_form V`, `share V`, `holds V` for some, `pipeline_<kind>
// cases V`, `off V` for all, and `pipeline_<kind>_p512_m4096 seconds V` (the best of 5). usage:
// bench_pipeline [FOLDER for Gantt charts of small ones]     exit 1 where a bubble is off, verify() objects
// or planning takes more than 0.1 s
#include "measure.hpp"

#include <wafer/compiler/pipeline.hpp>
#include <wafer/report/pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

using namespace wafer;

namespace {

constexpr double kMostSeconds = 0.1;

// As pipeline.hpp says, for durations of 1.
Index closed_form(PipelineKind kind, Index p, Index m) {
  const Index last_group = m % p;
  switch (kind) {
    case PipelineKind::gpipe:
    case PipelineKind::one_f_one_b: return 3 * (p - 1);
    case PipelineKind::interleaved:
      return 3 * (p - 1) + (last_group == 0 ? 0 : (m < p ? 3 : 2) * (p - last_group));
    case PipelineKind::zb_h1: return 2 * (p - 1) - std::min(m - 1, p - 1);
    case PipelineKind::zb_h2: return 2 * (p - 1) - std::min(m - 1, 2 * (p - 1));
    case PipelineKind::zb_v: return m <= p ? 4 * (p - 1) - 2 * (m - 1) : 2 * std::max<Index>(0, 2 * p - m);
    default: return 0;
  }
}

bool one_of_the_printed(Index p, Index m) {
  return (p == 4 || p == 16) && (m == 1 || m == 8 || m == 32 || m == 64);
}

Index most_held(const PipelineSchedule& schedule) {
  Index most = 0;
  for (const PipelineLane& lane : schedule.lanes) most = std::max(most, lane.held);
  return most;
}

// How many are off.
int check_bubbles(PipelineKind kind) {
  const std::string name(name_of(kind));
  int cases = 0, off = 0;
  for (Index p = 2; p <= 16; ++p) {
    for (Index m = 1; m <= 64; ++m) {
      const PipelineSchedule schedule = plan_pipeline({kind, p, m});
      schedule.verify();
      const Index expected = closed_form(kind, p, m);
      ++cases;
      off += schedule.bubble() == expected ? 0 : 1;
      if (!one_of_the_printed(p, m)) continue;
      std::printf("pipeline_%s_p%lld_m%lld bubble %lld closed_form %lld share %.4f holds %lld\n",
                  name.c_str(), static_cast<long long>(p), static_cast<long long>(m),
                  static_cast<long long>(schedule.bubble()), static_cast<long long>(expected),
                  schedule.bubble_share(), static_cast<long long>(most_held(schedule)));
    }
  }
  std::printf("pipeline_%s cases %d\npipeline_%s off %d\n", name.c_str(), cases, name.c_str(), off);
  return off;
}

double planning_seconds(PipelineKind kind) {
  double best = 1e9;
  Index bubble = 0;
  for (int round = 0; round < 5; ++round) {
    const double start = now();
    bubble = plan_pipeline({kind, 512, 4096}).bubble();
    best = std::min(best, now() - start);
  }
  const std::string name(name_of(kind));
  std::printf("pipeline_%s_p512_m4096 seconds %.4f\npipeline_%s_p512_m4096 bubble %lld\n", name.c_str(), best,
              name.c_str(), static_cast<long long>(bubble));
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  bool right = true;
  for (int k = 0; k <= static_cast<int>(PipelineKind::weight_stream); ++k) {
    const auto kind = static_cast<PipelineKind>(k);
    right = check_bubbles(kind) == 0 && right;
    right = planning_seconds(kind) <= kMostSeconds && right;
    std::fflush(stdout);
    if (argc > 1) {
      std::ofstream file(std::string(argv[1]) + "/pipeline_" + std::string(name_of(kind)) + ".svg");
      file << gantt_svg(plan_pipeline({kind, 4, 8}));
    }
  }
  return right ? 0 : 1;
}
