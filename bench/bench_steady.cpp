// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Training steps in company, and for long.
// usage: bench_steady pair|busy|crowd|reproducible|four|long|start [ROUNDS or SECONDS or STEPS]
// All are `mlp` (784-512-512-10, batch 128, SGD with momentum) on two threads, but for `long`.
//   pair   throughput of two threads over that of two independent sessions of one thread each, run at once
//   busy   mean step over some seconds beside a process that keeps one CPU busy, over the undisturbed one
//   crowd  the same beside one, two and three busy processes that may use all CPUs; and for one thread
//   reproducible  what one order of sums costs: the step with it over the step without, less one
//   four   four sessions that step at once in one process: whether each ends with the bits of one alone
//   long   `mlps` (64-32-10, batch 32) on one thread: growth of memory after step 1000, and the median
//          step of the last tenth over the first tenth's
//   start  from the spawn of a process to the end of its first step, compilation included; `mlp` with Adam
// prints `steady_<what> <metric> V`.
#include "measure.hpp"

#include <wafer/wafer.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace wafer;

namespace {

Executable network(const std::vector<Index>& widths, Index batch, Index threads, const Optimizer& optimizer,
                   std::optional<bool> reproducible = std::nullopt) {
  Graph g;
  const Axis b = g.axis("batch", batch);
  Tensor x = g.input("image", {b, widths[0]});
  const Tensor label = g.input("label", {b}, DType::i32);
  for (std::size_t k = 1; k < widths.size(); ++k) {
    if (k > 1) x = x | Relu{};
    x = x | nn::Linear{widths[k], "fc" + std::to_string(k)};
  }
  const Tensor loss = x | cross_entropy(label);
  return compile(minimize(loss, optimizer).fetch("loss", loss), Fabric::host(),
                 {.reproducible = reproducible, .threads = threads});
}

Executable mlp(Index threads, const Optimizer& optimizer = SGD{.lr = 0.01, .momentum = 0.9}) {
  return network({784, 512, 512, 10}, 128, threads, optimizer);
}

/// A session with one batch of its own, fed again and again.
class Trainer {
 public:
  Trainer(const Executable& executable, Index threads, Index rows, Index features)
      : session_(executable, {.threads = threads}),
        step_(session_.bind_step("")),
        image_(session_.bind("image")),
        label_(session_.bind("label")),
        images_(static_cast<std::size_t>(rows * features)),
        labels_(static_cast<std::size_t>(rows)) {
    for (std::size_t i = 0; i < images_.size(); ++i)
      images_[i] = static_cast<float>(i * 2654435761U % 1000) * 1e-3F;
    for (std::size_t i = 0; i < labels_.size(); ++i) labels_[i] = static_cast<std::int32_t>(i % 10);
  }
  void step() { session_.step(step_, {{image_, images_}, {label_, labels_}}); }
  /// Seconds of a step, the mean over some time.
  double mean(double seconds) {
    int steps = 0;
    const double start = now();
    for (; now() < start + seconds; ++steps) step();
    return (now() - start) / steps;
  }
  std::vector<float> weights() { return session_.get("fc1.weight"); }

 private:
  Session session_;
  StepHandle step_;
  InputHandle image_, label_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

void print(const char* what, const char* metric, double value) {
  std::printf("steady_%s %s %.4g\n", what, metric, value);
  std::fflush(stdout);
}

void pair(int rounds) {
  const Executable two = mlp(2), one = mlp(1);
  Trainer together(two, 2, 128, 784), first(one, 1, 128, 784), second(one, 1, 128, 784);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    together.mean(0.2);
    const double step = together.mean(1);
    double of_first = 0, of_second = 0;
    std::barrier ready(2);
    std::thread other([&] {
      ready.arrive_and_wait();
      of_second = second.mean(1);
    });
    ready.arrive_and_wait();
    of_first = first.mean(1);
    other.join();
    ratios.push_back(1 / step / (1 / of_first + 1 / of_second));
    print("pair", "ratio_of_round", ratios.back());
  }
  print("pair", "ratio", median(ratios));
}

/// A process that computes until this is destroyed.
class BusyProcess {
 public:
  explicit BusyProcess(const cpu_set_t* cpus = nullptr) : child_(fork()) {
    if (child_ != 0) return;
    if (cpus != nullptr) sched_setaffinity(0, sizeof *cpus, cpus);
    volatile int i = 0;
    for (;;) i = i + 1;
  }
  ~BusyProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t child_;
};

void busy(double seconds) {
  Trainer trainer(mlp(2), 2, 128, 784);
  trainer.mean(0.5);
  const double alone = trainer.mean(2);
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  int last = 0;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (CPU_ISSET(c, &cpus)) last = c;
  }
  CPU_ZERO(&cpus);
  CPU_SET(last, &cpus);
  const BusyProcess other(&cpus);
  const double beside = trainer.mean(seconds);
  print("busy", "alone_ms", alone * 1e3);
  print("busy", "beside_ms", beside * 1e3);
  print("busy", "ratio", beside / alone);
}

void crowd(double seconds) {
  Trainer one(mlp(1), 1, 128, 784), two(mlp(2), 2, 128, 784);
  one.mean(0.2);
  two.mean(0.2);
  const double alone = two.mean(1);
  print("crowd", "alone_ms", alone * 1e3);
  std::list<BusyProcess> others;
  for (int k = 1; k <= 3; ++k) {
    others.emplace_back();
    std::vector<double> of_one, of_two;  // in turn, so that the others' luck falls on both
    for (int round = 0; round < 4; ++round) {
      of_one.push_back(one.mean(seconds / 4));
      of_two.push_back(two.mean(seconds / 4));
    }
    const std::string beside = "beside_" + std::to_string(k);
    print("crowd", (beside + "_two_threads_ratio").c_str(), median(of_two) / alone);
    print("crowd", (beside + "_one_thread_ratio").c_str(), median(of_one) / alone);
  }
}

// A host has one order of sums, so that this is expected to cost nothing.
void reproducible(int rounds) {
  const auto mlp_with = [](bool order) {
    return network({784, 512, 512, 10}, 128, 2, SGD{.lr = 0.01, .momentum = 0.9}, order);
  };
  Trainer with(mlp_with(true), 2, 128, 784), without(mlp_with(false), 2, 128, 784);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double first = with.mean(0.25);
    const double free = without.mean(0.5);
    ratios.push_back((first + with.mean(0.25)) / 2 / free);
  }
  print("reproducible", "cost", median(ratios) - 1);
}

void four(int steps) {
  const Executable executable = mlp(2);
  Trainer alone(executable, 2, 128, 784);
  for (int i = 0; i < steps; ++i) alone.step();
  const std::vector<float> expected = alone.weights();
  int right = 0;
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> weights(4);
  for (std::vector<float>& own : weights) {
    threads.emplace_back([&] {
      Trainer trainer(executable, 2, 128, 784);
      for (int i = 0; i < steps; ++i) trainer.step();
      own = trainer.weights();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& own : weights)
    right += std::memcmp(own.data(), expected.data(), expected.size() * sizeof(float)) == 0;
  print("four", "sessions_with_right_bits", right);
  if (right != 4) throw std::runtime_error("a session has other bits than one alone");
}

void run_long(int steps) {
  Trainer trainer(network({64, 32, 10}, 32, 1, SGD{.lr = 0.01, .momentum = 0.9}), 1, 32, 64);
  constexpr int kRound = 100;  // steps
  std::vector<double> seconds;
  seconds.resize(
      static_cast<std::size_t>(steps / kRound));  // written now, so that it is not taken for growth
  double before = 0;
  for (int done = 0; done < steps; done += kRound) {
    const double start = now();
    for (int i = 0; i < kRound; ++i) trainer.step();
    seconds[static_cast<std::size_t>(done / kRound)] = (now() - start) / kRound;
    if (done + kRound == 1000) before = process_kib("VmRSS");
  }
  const double grown = process_kib("VmRSS") - before;
  const auto tenth = static_cast<std::ptrdiff_t>(seconds.size() / 10);
  const double first = median({seconds.begin(), seconds.begin() + tenth});
  const double last = median({seconds.end() - tenth, seconds.end()});
  print("long", "grown_KiB", grown);
  print("long", "first_tenth_us", first * 1e6);
  print("long", "last_tenth_us", last * 1e6);
  print("long", "ratio", last / first);
}

void start(int rounds, const char* self) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    const double begin = now();
    const pid_t child = fork();
    if (child == 0) {
      const std::string fd = std::to_string(ends[1]);
      execl(self, self, "first_step", fd.c_str(), static_cast<char*>(nullptr));
      _exit(1);
    }
    close(ends[1]);
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) throw std::runtime_error("the child ended without a step");
    seconds.push_back(now() - begin);
    close(ends[0]);
    waitpid(child, nullptr, 0);
  }
  print("start", "first_step_s", median(seconds));
}

void first_step(int fd) {
  Trainer trainer(mlp(2, AdamW{.lr = 1e-3, .weight_decay = 0}), 2, 128, 784);
  trainer.step();
  if (write(fd, "x", 1) != 1) throw std::runtime_error("write");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string mode = argc > 1 ? argv[1] : "";
    const auto number = [&](double otherwise) {
      return argc > 2 ? number_of(argv[2], "rounds, seconds or steps", 1) : otherwise;
    };
    if (mode == "pair") return pair(static_cast<int>(number(5))), 0;
    if (mode == "busy") return busy(number(10)), 0;
    if (mode == "crowd") return crowd(number(8)), 0;
    if (mode == "reproducible") return reproducible(static_cast<int>(number(9))), 0;
    if (mode == "four") return four(static_cast<int>(number(200))), 0;
    if (mode == "long") return run_long(static_cast<int>(number(1e6))), 0;
    if (mode == "start") return start(static_cast<int>(number(11)), argv[0]), 0;
    if (mode == "first_step") return first_step(static_cast<int>(number(1))), 0;
    std::fprintf(
        stderr,
        "usage: bench_steady pair|busy|crowd|reproducible|four|long|start [ROUNDS or SECONDS or STEPS]\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
