// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Collectives by formula and by the link-level simulator, on WSE-2's constants; all figures are modelled.
// usage: bench_collectives
// prints, over lines of P = 4 ... 512 cores and B = 1 ... 4096 wavelets,
//   collective_<reduce's tree|bound|ring|...>_P<p>_B<b> cycles V     by formula
//   collective_<...>_P<p>_B<b> simulated V                           by simulation
//   collective_error_<...> median|worst V                           |formula / simulation - 1| over the grid
//   collective_chosen_<reduce|all_reduce> off_formula|off_simulated V   worst excess over the best of all
//   collective_generate_P512 seconds V                               the slowest auto-generated tree
//   collective_all_reduce_512x512_B256_<method> cycles|simulated|seconds|gain V   gain over the vendor's
//   chain
#include "measure.hpp"

#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/simulator.hpp>

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

constexpr Index kLeastCores = 4, kMostCores = 512, kMostWavelets = 4096;

void print(const std::string& name, const char* metric, double value) {
  std::printf("collective_%s %s %.6g\n", name.c_str(), metric, value);
}

Machine wse2(Index rows, Index columns) {
  Machine machine = Machine::wse2();
  machine.rows = rows;
  machine.columns = columns;
  return machine;
}

CollectiveRequest on_line(CollectiveKind kind, Index cores, Index wavelets) {
  CollectiveRequest request;
  request.kind = kind;
  request.area = {0, 0, 1, cores};
  request.wavelets = wavelets;
  return request;
}

double simulated(const CollectiveRequest& request, const Method& method, const Machine& machine) {
  return simulate(build(request, method, machine).traffic, machine).cycles;
}

/// Errors of the formulas and what choosing by them loses.
class Grid {
 public:
  void run() {
    for (Index cores = kLeastCores; cores <= kMostCores; cores *= 2) {
      for (Index wavelets = 1; wavelets <= kMostWavelets; wavelets *= 2) {
        const CollectiveRequest reduce = on_line(CollectiveKind::reduce, cores, wavelets);
        print("bound" + size(reduce), "cycles", modelled_bound(reduce, wse2(1, cores)));
        measure(reduce, "");
        measure(on_line(CollectiveKind::all_reduce, cores, wavelets), "all_reduce_");
        for (const CollectiveKind kind :
             {CollectiveKind::broadcast, CollectiveKind::scatter, CollectiveKind::gather,
              CollectiveKind::all_gather, CollectiveKind::reduce_scatter})
          measure(on_line(kind, cores, wavelets), std::string(name_of(kind)) + "_");
        measure_send(cores, wavelets);
      }
    }
    for (auto& [name, errors] : errors_) {
      std::sort(errors.begin(), errors.end());
      print("error_" + name, "median", errors[errors.size() / 2]);
      print("error_" + name, "worst", errors.back());
    }
    for (const auto& [name, excess] : off_formula_) print("chosen_" + name, "off_formula", excess);
    for (const auto& [name, excess] : off_simulated_) print("chosen_" + name, "off_simulated", excess);
  }

 private:
  static std::string size(const CollectiveRequest& request) {
    return "_P" + std::to_string(request.area.cores()) + "_B" + std::to_string(request.wavelets);
  }

  void record(const std::string& name, const CollectiveRequest& request, double cycles, double simulation) {
    print(name + size(request), "cycles", cycles);
    print(name + size(request), "simulated", simulation);
    if (simulation > 0) errors_[name].push_back(std::abs(cycles / simulation - 1));
  }

  void measure(const CollectiveRequest& request, const std::string& prefix) {
    const Machine machine = wse2(1, request.area.columns);
    const MethodChoice choice = choose_method(request, machine);
    double least = choice.cycles, fastest = 1e300, chosen = 0;
    for (const Method& method : methods_for(request)) {
      const double cycles = modelled_cycles(request, method, machine);
      const double simulation = simulated(request, method, machine);
      const std::string name = text_of(method, request.area);
      record(name == "ring" && request.kind == CollectiveKind::all_reduce ? name : prefix + name, request,
             cycles, simulation);
      least = std::min(least, cycles);
      fastest = std::min(fastest, simulation);
      if (method == choice.method) chosen = simulation;
    }
    if (fastest <= 0) return;
    const std::string kind(name_of(request.kind));
    off_formula_[kind] = std::max(off_formula_[kind], choice.cycles / least - 1);
    off_simulated_[kind] = std::max(off_simulated_[kind], chosen / fastest - 1);
  }

  /// One message alone: nothing to wait for.
  void measure_send(Index cores, Index wavelets) {
    const CollectiveRequest request = send_request({0, 0}, {0, cores - 1}, wavelets);
    const Machine machine = wse2(1, cores);
    record("send", request, modelled_cycles(request, {Algorithm::direct}, machine),
           simulated(request, {Algorithm::direct}, machine));
  }

  std::map<std::string, std::vector<double>> errors_;
  std::map<std::string, double> off_formula_, off_simulated_;
};

void generate() {
  double slowest = 0;
  for (Index wavelets = 1; wavelets <= kMostWavelets; wavelets *= 2) {
    const double start = now();
    const Machine machine = wse2(1, kMostCores);
    tree_within(kMostCores, choose_limits(kMostCores, wavelets, machine).limits);
    generate_trees(LineTree::automatic, kMostCores, 0, wavelets, machine);
    generate_trees(LineTree::streamed, kMostCores, kMostCores / 2, wavelets, machine);
    slowest = std::max(slowest, now() - start);
  }
  print("generate_P512", "seconds", slowest);
}

void rectangle() {
  constexpr Index kSide = 512, kWavelets = 256;
  const Machine machine = wse2(kSide, kSide);
  CollectiveRequest request;
  request.kind = CollectiveKind::all_reduce;
  request.area = {0, 0, kSide, kSide};
  request.wavelets = kWavelets;
  const Method vendor{Algorithm::trees, LineTree::chain, LineTree::chain};
  const Method generated{Algorithm::trees, LineTree::automatic, LineTree::automatic};
  double of_vendor = 0, simulated_vendor = 0;
  for (const Method& method : {vendor, generated, choose_method(request, machine).method}) {
    const Collective collective = build(request, method, machine);
    const auto cores = static_cast<std::size_t>(kSide * kSide);
    std::vector<float> values(cores * kWavelets);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
    std::vector<float> sums(kWavelets, 0);  // of small whole numbers: exact
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % kWavelets] += values[i];
    const double start = now();
    const Simulation simulation = simulate(collective.traffic, machine, values);
    const double seconds = now() - start;
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) right = right && values[i] == sums[i % kWavelets];
    const double cycles = modelled_cycles(request, method, machine);
    if (method == vendor) {
      of_vendor = cycles;
      simulated_vendor = simulation.cycles;
    }
    const std::string name = "all_reduce_512x512_B256_" + text_of(method, request.area);
    print(name, "cycles", cycles);
    print(name, "simulated", simulation.cycles);
    print(name, "gain", of_vendor / cycles);
    print(name, "simulated_gain", simulated_vendor / simulation.cycles);
    print(name, "right_sums", right ? 1 : 0);
    print(name, "seconds", seconds);
  }
}

}  // namespace

int main() {
  try {
    Grid().run();
    generate();
    rectangle();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
