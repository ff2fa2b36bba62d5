// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Random graphs on random plans: every fetched value and every weight equals the interpreter's in each bit,
// and each op's result is near a plain f64 evaluation. usage: wafer_fuzz [--graphs N] [--seed S] [--graph
// ONE]     exit 1 where a graph is wrong, or where a run of 1000 or more came by some kind of op, cut or
// collective fewer than 20 times, or cut less than half of the plans
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

bool print_counts(const char* what, const std::map<std::string, wafer::Index>& counts) {
  bool enough = true;
  for (const auto& [name, count] : counts) {
    std::printf("%s %s %lld\n", what, name.c_str(), static_cast<long long>(count));
    enough = enough && count >= kLeast;
  }
  return enough;
}

long long number(wafer::Index index) { return static_cast<long long>(index); }

bool print(const fuzz::Counts& c) {
  bool enough = print_counts("op", c.ops);
  enough = print_counts("cut", c.cuts) && enough;
  enough = print_counts("collective", c.collectives) && enough;
  print_counts("refused", c.refused);
  std::printf("graphs %lld plans %lld cut %lld host %lld micro_batched %lld gradients %lld trained %lld\n",
              number(c.graphs), number(c.plans), number(c.cut_plans), number(c.hosts),
              number(c.micro_batched), number(c.gradients), number(c.trained));
  std::printf("tensors_equal_in_every_bit %lld\n", number(c.compared));
  std::printf("elements_against_f64 %lld near_kink_or_tie %lld not_finite %lld worst %.3g of %s\n",
              number(c.evaluated), number(c.near), number(c.not_finite), c.worst, c.worst_op.c_str());
  return enough && 2 * c.cut_plans >= c.plans;
}

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
  const bool enough = print(counts);
  if (failures > 0)
    std::printf("fuzz WRONG: rerun one with --seed %llu --graph N\n", static_cast<unsigned long long>(seed));
  const bool full = counts.graphs >= kEnoughGraphs;
  if (full && !enough) std::printf("fuzz: some kind occurred fewer than %lld times\n", number(kLeast));
  return failures > 0 || (full && !enough) ? 1 : 0;
}
