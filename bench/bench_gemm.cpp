// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products in f32 through a session. usage: bench_gemm THREADS
// prints `gemm_wafer_<NN|NT|TN>_<M>x<N>x<K>_t<threads> GFLOPs V`: C[M,N] = op(A) op(B), row-major, T where a
// matrix is stored transposed (NT: forward of a layer; NN: gradient of its input; TN: gradient of its
// weights). The median of repetitions. bench/versus_gemm.sh runs it beside other libraries.
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

struct Product {
  const char* layout;
  Index m, n, k;
};

constexpr Product kProducts[] = {
    {"NN", 1024, 1024, 1024}, {"NN", 128, 512, 784},   {"NN", 256, 512, 512},   {"NN", 2048, 384, 384},
    {"NN", 2048, 1536, 384},  {"NN", 2048, 384, 1536}, {"NN", 64, 64, 64},      {"NN", 256, 256, 64},
    {"NT", 128, 512, 784},    {"NT", 128, 512, 512},   {"NT", 2048, 1536, 384}, {"NT", 2048, 384, 1536},
    {"NT", 256, 256, 64},     {"TN", 784, 512, 128},   {"TN", 512, 512, 256},   {"TN", 384, 384, 2048},
    {"TN", 384, 1536, 2048},  {"TN", 1536, 384, 2048}, {"TN", 256, 64, 256}};

constexpr int kRepetitions = 7;
constexpr double kSeconds = 0.015;  // of each

double seconds_of(const Product& p, Index threads) {
  const bool ta = p.layout[0] == 'T', tb = p.layout[1] == 'T';
  Graph g;
  const Tensor a = parameter(g, "a", ta ? Shape{p.k, p.m} : Shape{p.m, p.k}, Init::uniform(1));
  const Tensor b = parameter(g, "b", tb ? Shape{p.n, p.k} : Shape{p.k, p.n}, Init::uniform(1));
  const Tensor c = apply(Matmul{ta, tb}, {a, b}).at(0);
  Session session{compile(fetch("c", c), Fabric::host(), {.threads = threads}), {.threads = threads}};
  const StepHandle step = session.bind_step("");
  const auto repeat = [&](int times) {
    const double start = now();
    for (int i = 0; i < times; ++i) session.step(step, {});
    return (now() - start) / times;
  };
  repeat(3);
  const int times = std::max(1, static_cast<int>(kSeconds / repeat(3)));
  std::vector<double> seconds;
  for (int r = 0; r < kRepetitions; ++r) seconds.push_back(repeat(times));
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Index threads = argc > 1 ? count_of(argv[1], "threads") : 1;
    for (const Product& p : kProducts) {
      const double flops = 2.0 * static_cast<double>(p.m * p.n * p.k);
      std::printf("gemm_wafer_%s_%lldx%lldx%lld_t%lld GFLOPs %.6g\n", p.layout, static_cast<long long>(p.m),
                  static_cast<long long>(p.n), static_cast<long long>(p.k), static_cast<long long>(threads),
                  flops / seconds_of(p, threads) / 1e9);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
