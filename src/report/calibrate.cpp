// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/compile.hpp>
#include <wafer/core/cpus.hpp>
#include <wafer/error.hpp>
#include <wafer/graph/graph.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/matmul.hpp>
#include <wafer/ops/neg.hpp>
#include <wafer/ops/relu.hpp>
#include <wafer/report/calibrate.hpp>
#include <wafer/runtime/session.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace wafer::inline v0 {

namespace {

constexpr double kSecondsOfRound = 2e-3;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median seconds of a step without inputs.
double seconds_of_step(const Executable& executable, Index threads, int rounds = 15) {
  Session session{executable, {.threads = threads}};
  const StepHandle step = session.bind_step("");
  const auto repeat = [&](int times) {
    const double start = now();
    for (int i = 0; i < times; ++i) session.step(step, {});
    return now() - start;
  };
  repeat(2);
  const double once = repeat(1);
  const int times = static_cast<int>(std::clamp(kSecondsOfRound / once, 1.0, 1e4));
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) seconds.push_back(repeat(times) / times);
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<std::size_t>(rounds / 2)];
}

class Calibration {
 public:
  Calibration(const Fabric& host, KernelTarget target) : host_(host) {
    options_.kernel_target = target;
    options_.threads = 1;
  }

  Fabric run() const {
    Fabric fabric = host_;
    fabric.flops = flops();
    fabric.setup = setup();
    fabric.fast_rate = rate(128, fabric.setup);     // three matrices of 64 KiB
    fabric.memory_rate = rate(1024, fabric.setup);  // of 4 MiB
    fabric.far_rate = far_rate();
    if (available_cpus() > 1) fabric.hop = hop();
    fabric.measured = true;
    fabric.check();
    return fabric;
  }

 private:
  double step_of(const Tensor& fetched, Index threads = 1) const {
    return seconds_of_step(compile(fetch("y", fetched), host_, options_), threads);
  }

  /// Products of a batch with one matrix after the other, together too large for fast memory.
  double flops() const {
    constexpr Index kBatch = 128, kWidth = 512;
    constexpr int kMatrices = 6;
    Graph g;
    Tensor x = parameter(g, "x", {kBatch, kWidth}, Init::uniform(1));
    for (int i = 0; i < kMatrices; ++i) {
      const Tensor w = parameter(g, "w" + std::to_string(i), {kWidth, kWidth}, Init::uniform(1e-2));
      x = apply(Matmul{false, true}, {x, w}).at(0);
    }
    return kMatrices * 2.0 * kBatch * kWidth * kWidth / step_of(x);
  }

  /// What a small op takes beside its data: the mean of those on matrices, and of those on numbers, of which
  /// a step has about as many.
  double setup() const {
    constexpr int kOps = 64;
    Graph g;
    Tensor number = parameter(g, "number", {1}, Init::uniform(1));
    for (int i = 0; i < kOps; ++i) number = -number;
    const Tensor bias = parameter(g, "bias", {32}, Init::uniform(1));
    Tensor x = parameter(g, "x", {32, 32}, Init::uniform(1));
    for (int i = 0; i < kOps / 2; ++i) x = relu(x + bias);
    return (step_of(x) + step_of(number)) / (2 * kOps);
  }

  /// Bytes a second of sums of two matrices of width² numbers.
  double rate(Index width, double setup) const {
    constexpr int kOps = 8;
    Graph g;
    const Tensor y = parameter(g, "y", {width, width}, Init::uniform(1));
    Tensor x = parameter(g, "x", {width, width}, Init::uniform(1));
    for (int i = 0; i < kOps; ++i) x = x + y;
    const double bytes = 3.0 * sizeof(float) * static_cast<double>(width * width);
    const double seconds = step_of(x) / kOps;
    return bytes / std::max(seconds - setup, seconds / 10);
  }

  /// Bytes a second of a sum of matrices that are together larger than most caches.
  double far_rate() const {
    constexpr Index kWidth = 2560;
    Graph g;
    const Tensor x = parameter(g, "x", {kWidth, kWidth}, Init::constant(1));
    const Tensor y = parameter(g, "y", {kWidth, kWidth}, Init::constant(1));
    const double seconds = seconds_of_step(compile(fetch("y", x + y), host_, options_), 1, 5);
    return 3.0 * sizeof(float) * kWidth * kWidth / seconds;
  }

  /// What an op waits for one on another thread.
  double hop() const {
    constexpr int kOps = 200;
    Graph g;
    Tensor x = parameter(g, "x", {1}, Init::uniform(1));
    for (int i = 0; i < kOps; ++i) x = -x;
    const double alone = step_of(x), together = step_of(x, 2);
    return std::max(0.0, together - alone) / kOps;
  }

  const Fabric& host_;
  Options options_;
};

}  // namespace

Fabric calibrate(const Fabric& host, KernelTarget target) {
  if (!host.shared_memory)
    throw UserError("calibrate: expected a host, which is at hand to be measured, got " + host.name);
  host.check();
  return Calibration(host, target).run();
}

}  // namespace wafer::inline v0
