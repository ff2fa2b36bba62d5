// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Time of a training step.
// usage: bench_train NETWORK sgd|adam|adamw THREADS SECONDS [mesh R C] [micro N] [clip] [plain] [profile]
//   mlp   784-512-512-10, batch 128;  mlps  64-32-10, batch 32: ReLU, softmax cross-entropy
//   tall  mlp with a batch of 4096;   wide  784-2048-2048-10, batch 512;   784-128-10/60  as it says
//   sgd   rate 0.01, momentum 0.9;  adam  AdamW, rate 1e-3, no decay;  adamw  rate 3e-4, decay 0.1
// `micro N`: the batch in N parts; `clip`: the gradient's norm is at most 1; `plain`: weights are stored
// row-major.
// prints `train_wafer_<network>_<optimizer>_t<threads> <metric> V` for step_ms, items/s, GFLOPs,
// peak_rss_MiB and first_step_s (from the start of the process to the end of its first step); with `profile`,
// then a line for each action of the plan: microseconds a step in it and waiting for it, summed over the
// workers, and its GFLOP/s and GB/s a worker.
#include "measure.hpp"

#include <wafer/wafer.hpp>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace wafer;

namespace {

struct Network {
  std::vector<Index> widths;  ///< of the inputs, then of each layer
  Index batch;
  int steps_per_round;  ///< enough of them that reading the clock does not count

  /// Multiply-adds are two. Every product has three: forward, gradients of the weights and of the inputs,
  /// which the first layer does not need.
  double flops() const {
    double sum = 0;
    for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
      const double products = k == 0 ? 2 : 3;
      sum += products * 2.0 * static_cast<double>(batch * widths[k] * widths[k + 1]);
    }
    return sum;
  }
};

Network network_named(const std::string& name) {
  if (name == "mlp") return {{784, 512, 512, 10}, 128, 10};
  if (name == "mlps") return {{64, 32, 10}, 32, 200};
  if (name == "tall") return {{784, 512, 512, 10}, 4096, 1};
  if (name == "wide") return {{784, 2048, 2048, 10}, 512, 1};
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.find('-') > slash)
    throw std::invalid_argument("expected mlp, mlps, tall, wide, or such as 784-128-10/60, got " + name);
  Network network{{}, count_of(name.substr(slash + 1), "batch"), 1};
  std::istringstream widths(name.substr(0, slash));
  for (std::string width; std::getline(widths, width, '-');)
    network.widths.push_back(count_of(width, "width"));
  return network;
}

Optimizer optimizer_named(const std::string& name) {
  if (name == "sgd") return SGD{.lr = 0.01, .momentum = 0.9};
  if (name == "adam") return AdamW{.lr = 1e-3, .weight_decay = 0};
  if (name == "adamw") return AdamW{.lr = 3e-4, .weight_decay = 0.1};
  throw std::invalid_argument("expected sgd, adam or adamw, got " + name);
}

struct Arguments {
  std::string network = "mlp", optimizer = "sgd";
  Index threads = 2;
  double seconds = 3;
  Fabric fabric = Fabric::host();
  Index micro_batches = 0;
  bool clip = false, panels = true, profile = false;
};

constexpr const char* kUsage =
    "mlp|mlps|tall|wide|WIDTH-WIDTH.../BATCH sgd|adam|adamw THREADS SECONDS [mesh R C] [micro N] [clip] "
    "[plain] [profile]";

Session session_of(const Network& network, const Arguments& a) {
  Graph g;
  Axis b = g.axis("batch", network.batch);
  Tensor x = g.input("image", {b, network.widths[0]});
  Tensor label = g.input("label", {b}, DType::i32);
  for (std::size_t k = 1; k < network.widths.size(); ++k) {
    if (k > 1) x = x | Relu{};
    x = x | nn::Linear{network.widths[k], "fc" + std::to_string(k)};
  }
  Tensor loss = x | cross_entropy(label);
  Options options;
  options.threads = a.threads;
  options.micro_batches = a.micro_batches;
  options.panels = a.panels;
  Request request = minimize(loss, optimizer_named(a.optimizer)).fetch("loss", loss);
  if (a.clip) request = std::move(request).clip_norm(1);
  return Session{compile({{"train", request}}, a.fabric, options),
                 {.threads = a.threads, .trace = a.profile}};
}

/// Eight batches, used in turn.
class Batches {
 public:
  explicit Batches(const Network& network)
      : rows_(static_cast<std::size_t>(network.batch)),
        features_(static_cast<std::size_t>(network.widths[0])),
        images_(kCount * rows_ * features_),
        labels_(kCount * rows_) {
    // A linear congruential generator (constants of Numerical Recipes): any numbers of about unit size do.
    std::uint32_t state = 1;
    const auto next = [&state] { return (state = state * 1664525U + 1013904223U) >> 8; };
    for (float& value : images_) value = static_cast<float>(next()) * 0x1p-23F * 1.7F - 1.7F;
    for (std::int32_t& label : labels_) label = static_cast<std::int32_t>(next() % 10);
  }
  std::span<const float> image(std::size_t k) const {
    return std::span(images_).subspan(k % kCount * rows_ * features_, rows_ * features_);
  }
  std::span<const std::int32_t> label(std::size_t k) const {
    return std::span(labels_).subspan(k % kCount * rows_, rows_);
  }

 private:
  static constexpr std::size_t kCount = 8;
  std::size_t rows_, features_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The kernel notes the start in ticks (10 ms) since boot: field 22 of /proc/self/stat, proc(5).
double seconds_since_start() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int k = 3; k <= 22; ++k) fields >> field;
  return seconds_of(CLOCK_BOOTTIME) - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Arguments parse(std::span<char*> words) {
  Arguments a;
  if (words.size() == 1) return a;
  const auto fail = [] { throw std::invalid_argument(std::string("usage: bench_train ") + kUsage); };
  if (words.size() < 5) fail();
  a.network = words[1];
  a.optimizer = words[2];
  a.threads = count_of(words[3], "threads");
  a.seconds = number_of(words[4], "seconds", 0);
  for (std::size_t k = 5; k < words.size(); ++k) {
    const std::string word = words[k];
    if (word == "mesh" && k + 2 < words.size()) {
      a.fabric = Fabric::mesh(count_of(words[k + 1], "rows"), count_of(words[k + 2], "columns"));
      k += 2;
    } else if (word == "micro" && k + 1 < words.size()) {
      a.micro_batches = count_of(words[++k], "micro-batches");
    } else if (word == "clip") {
      a.clip = true;
    } else if (word == "plain") {
      a.panels = false;
    } else if (word == "profile") {
      a.profile = true;
    } else {
      fail();
    }
  }
  return a;
}

/// Time in each action of the plan, over the steps that `add` has seen.
class Profile {
 public:
  void add(const std::vector<TraceEvent>& events) {
    ++steps_;
    for (const TraceEvent& event : events) {
      Row& row = rows_[event.action];
      row.what = event.what;
      row.running += event.ended - event.started;
      row.waiting += event.started - event.claimed;
      row.flops += event.flops;
      row.bytes += event.bytes;
    }
    if (!events.empty()) whole_ += events.back().ended;
  }
  void print(Index threads) const {
    const double us = 1e6 / steps_;
    double running = 0, waiting = 0;
    std::printf("profile_running_us profile_waiting_us GFLOP/s GB/s what\n");
    for (const auto& [action, row] : rows_) {
      std::printf("%18.2f %18.2f %7.1f %4.1f %s\n", row.running * us, row.waiting * us,
                  row.flops / row.running * 1e-9, row.bytes / row.running * 1e-9, row.what.c_str());
      running += row.running;
      waiting += row.waiting;
    }
    const double all = whole_ * static_cast<double>(threads);
    std::printf("%18.2f %18.2f all; %.2f us a step, of which the workers run %.3f, wait %.3f\n", running * us,
                waiting * us, whole_ * us, running / all, waiting / all);
  }

 private:
  struct Row {
    std::string what;
    double running = 0, waiting = 0, flops = 0, bytes = 0;
  };
  std::map<std::uint32_t, Row> rows_;
  double whole_ = 0;
  int steps_ = 0;
};

void run(const Arguments& a) {
  const Network network = network_named(a.network);
  Session session = session_of(network, a);
  const Batches batches(network);
  const StepHandle train = session.bind_step("train");
  const InputHandle image = session.bind("image"), label = session.bind("label");
  constexpr int kProfiledSteps = 300;
  std::size_t k = 0;
  const auto step = [&] {
    session.step(train, {{image, batches.image(k)}, {label, batches.label(k)}});
    ++k;
  };

  step();
  const double first_step = seconds_since_start();
  constexpr int kWarmUp = 20;
  for (int i = 0; i < kWarmUp; ++i) step();
  std::vector<double> rounds;
  const double end = now() + a.seconds;
  while (now() < end || rounds.size() < 5) {
    const double start = now();
    for (int i = 0; i < network.steps_per_round; ++i) step();
    rounds.push_back((now() - start) / network.steps_per_round);
  }

  const double seconds = median(std::move(rounds));
  const std::string name = "train_wafer_" + a.network + "_" + a.optimizer + "_t" + std::to_string(a.threads);
  const auto line = [&](const char* metric, double value) {
    std::printf("%s %s %.6g\n", name.c_str(), metric, value);
  };
  line("step_ms", seconds * 1e3);
  line("items/s", static_cast<double>(network.batch) / seconds);
  line("GFLOPs", network.flops() / seconds / 1e9);
  line("peak_rss_MiB", peak_rss_mib());
  line("first_step_s", first_step);
  if (a.profile) {
    Profile profile;
    for (int i = 0; i < kProfiledSteps; ++i) {
      step();
      profile.add(session.trace());
    }
    profile.print(a.threads);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse({argv, static_cast<std::size_t>(argc)}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
