// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Predicted against measured time of a training step, SGD with momentum. usage: bench_predict [ROUNDS]
// Each round calibrates the host anew, compiles `mlp` (784-512-512-10, batch 128) and `mlps` (64-32-10, batch
// 32) for one thread and for two, and measures them. Prints `predict_<network>_t<threads> <metric> V`:
// predicted_ms and measured_ms of each round, then the median over the rounds of |predicted / measured - 1|.
// Exits with 1 where one is above 0.15.
#include "measure.hpp"

#include <wafer/report/calibrate.hpp>
#include <wafer/wafer.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr double kLimit = 0.15, kSeconds = 0.5;

struct Network {
  std::string name;
  std::vector<Index> widths;
  Index batch;
};

Executable train(const Network& network, const Fabric& host, Index threads) {
  Graph g;
  const Axis b = g.axis("batch", network.batch);
  Tensor x = g.input("image", {b, network.widths[0]});
  const Tensor label = g.input("label", {b}, DType::i32);
  for (std::size_t k = 1; k < network.widths.size(); ++k) {
    if (k > 1) x = x | Relu{};
    x = x | nn::Linear{network.widths[k], "fc" + std::to_string(k)};
  }
  const Tensor loss = x | cross_entropy(label);
  return compile(minimize(loss, SGD{.lr = 0.01, .momentum = 0.9}).fetch("loss", loss), host,
                 {.threads = threads});
}

double measured(const Network& network, const Executable& executable, Index threads) {
  Session session{executable, {.threads = threads}};
  const StepHandle step = session.bind_step("");
  const InputHandle image = session.bind("image"), label = session.bind("label");
  const std::vector<float> images(static_cast<std::size_t>(network.batch * network.widths[0]), 0.5F);
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(network.batch), 3);
  std::vector<double> rounds;
  const int times = network.widths[0] > 100 ? 5 : 1000;
  for (const double end = now() + kSeconds; now() < end;) {
    const double start = now();
    for (int i = 0; i < times; ++i) session.step(step, {{image, images}, {label, labels}});
    rounds.push_back((now() - start) / times);
  }
  return median(std::move(rounds));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int count = argc > 1 ? static_cast<int>(count_of(argv[1], "rounds")) : 5;
    const Network networks[] = {{"mlp", {784, 512, 512, 10}, 128}, {"mlps", {64, 32, 10}, 32}};
    std::map<std::string, std::vector<double>> errors;
    for (int round = 0; round < count; ++round) {
      const double start = now();
      const Fabric host = calibrate();
      std::printf("predict_calibrate seconds %.3f\n", now() - start);
      std::printf("predict_host GFLOPs %.1f setup_ns %.1f fast_GB/s %.1f memory_GB/s %.1f hop_ns %.1f\n",
                  host.flops * 1e-9, host.setup * 1e9, host.fast_rate * 1e-9, host.memory_rate * 1e-9,
                  host.hop * 1e9);
      for (const Network& network : networks) {
        for (const Index threads : {1, 2}) {
          const Executable executable = train(network, host, threads);
          const double expected = executable.plan().predicted_seconds();
          const double actual = measured(network, executable, std::min(threads, executable.plan().workers()));
          const std::string name = "predict_" + network.name + "_t" + std::to_string(threads);
          std::printf("%s predicted_ms %.4f\n%s measured_ms %.4f\n", name.c_str(), expected * 1e3,
                      name.c_str(), actual * 1e3);
          errors[name].push_back(std::abs(expected / actual - 1));
        }
      }
    }
    bool held = true;
    for (const auto& [name, values] : errors) {
      const double error = median(values);
      std::printf("%s error %.3f\n", name.c_str(), error);
      held = held && error <= kLimit;
    }
    return held ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
