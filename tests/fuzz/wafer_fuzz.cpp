// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Random graphs on random plans: every fetched value and every weight equals the interpreter's in each bit,
// and each op's result, in each round, is near a plain f64 evaluation: within 1e-5 of the largest sum of
// magnitudes of its terms. A sum in f32 of n roundings, whose a-priori bound n u / (1 - n u) is above that,
// is held to its bound, and counted and printed apart.
//
// usage: wafer_fuzz [--graphs N] [--seed S] [--graph ONE]
// exit 1 where a graph is wrong or an op or hint is refused for a cause that is not known, or where a
// run of 1000 or more came by some kind of op, cut, collective, graph or plan fewer than 20 times, or cut
// less than half of the plans
#include "../support/thread_sanitizer.hpp"
#include "runner.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

namespace {

constexpr wafer::Index kLeast = 20;
constexpr wafer::Index kEnoughGraphs = 1000;  // for all kinds to occur often
constexpr int kMostFailures = 5;

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t graphs = 1000, seed = 1, first = 0;
  bool single = false;
  for (int i = 1; i < argc; i += 2) {
    const bool known = std::strcmp(argv[i], "--graphs") == 0 || std::strcmp(argv[i], "--seed") == 0 ||
                       std::strcmp(argv[i], "--graph") == 0;
    char* end = nullptr;
    const std::uint64_t value = known && i + 1 < argc ? std::strtoull(argv[i + 1], &end, 10) : 0;
    if (end == nullptr || *end != 0 || end == argv[i + 1]) {
      std::fprintf(stderr, "usage: wafer_fuzz [--graphs N] [--seed S] [--graph ONE]\n");
      return 2;
    }
    if (std::strcmp(argv[i], "--graphs") == 0) graphs = value;
    if (std::strcmp(argv[i], "--seed") == 0) seed = value;
    if (std::strcmp(argv[i], "--graph") == 0) {
      single = true;
      first = value;
    }
  }
  fuzz::Counts counts;
  int failures = 0;
  const std::uint64_t end = single ? first + 1 : graphs;
  for (std::uint64_t g = first; g < end && failures < kMostFailures; ++g) {
    const fuzz::Outcome outcome = fuzz::run_graph(seed, g, single, counts);
    failures += outcome.wrong ? 1 : 0;
    if (outcome.text.empty()) continue;
    std::printf("%s%s\n", outcome.wrong ? "WRONG " : "", outcome.text.c_str());
    std::fflush(stdout);
  }
  const bool enough = counts.print(kLeast);
  if (failures > 0)
    std::printf("fuzz WRONG: rerun one with --seed %llu --graph N\n", static_cast<unsigned long long>(seed));
  const bool full = counts.graphs >= kEnoughGraphs;
  if (full && !enough)
    std::printf("fuzz: some kind occurred fewer than %lld times\n", static_cast<long long>(kLeast));
  return failures > 0 || (full && !enough) ? 1 : 0;
}
