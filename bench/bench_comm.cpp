// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// What a step costs beside its arithmetic. usage: bench_comm
// prints `comm_<what>_t<threads> us V`, medians over rounds:
//   empty_step  a step of one op on one number, with bound handles
//   hand_over   one op of a chain of tiny ones, each of which waits for the one before
//   reduction   one sum over two blocks of a mesh, of 4096 numbers, and its result back in both
// An empty step on two threads begins and ends all workers: that is the barrier.
#include "measure.hpp"

#include <wafer/wafer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr int kRounds = 31, kStepsPerRound = 200;
constexpr int kChain = 500, kReductions = 20;

/// Median seconds of a step that is fed `values`.
double seconds_of_step(const Executable& executable, Index threads, const std::vector<float>& values) {
  Session session{executable, {.threads = threads}};
  const StepHandle step = session.bind_step("run");
  const InputHandle x = session.bind("x");
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    for (int i = 0; i < kStepsPerRound; ++i) session.step(step, {{x, values}});
    rounds.push_back((now() - start) / kStepsPerRound);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

/// `length` ops, one after the other, on one number.
Executable chain(int length) {
  Graph g;
  Tensor x = g.input("x", {1});
  for (int i = 0; i < length; ++i) x = -x;
  return compile({{"run", fetch("y", x)}}, Fabric::host(), {.threads = 1});
}

/// Sums over the batch, whose two halves lie in two blocks; each is used in both to make the next batch.
Executable reductions(int count) {
  Graph g;
  const Axis b = g.axis("batch", 2);
  Tensor x = g.input("x", {b, 4096});
  x.split(b, Mesh::columns);
  for (int i = 0; i < count; ++i) x = x - sum(x, {0});
  return compile({{"run", fetch("y", sum(x, {0}))}}, Fabric::mesh(1, 2), {.threads = 2});
}

void print(const char* what, Index threads, double seconds) {
  std::printf("comm_%s_t%lld us %.3f\n", what, static_cast<long long>(threads), seconds * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    const std::vector<float> one{1.0F}, two_rows(2 * 4096, 1e-3F);
    const Executable empty = chain(1), longer = chain(1 + kChain), none = reductions(0),
                     many = reductions(kReductions);
    for (const Index threads : {1, 2}) {
      const double step = seconds_of_step(empty, threads, one);
      print("empty_step", threads, step);
      print("hand_over", threads, (seconds_of_step(longer, threads, one) - step) / kChain);
      print("reduction", threads,
            (seconds_of_step(many, threads, two_rows) - seconds_of_step(none, threads, two_rows)) /
                kReductions);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
