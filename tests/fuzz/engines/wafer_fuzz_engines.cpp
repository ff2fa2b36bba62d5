// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Random and hostile inputs to the engines: every result must satisfy its verify(), and every refusal be a
// typed error.
//
// usage: wafer_fuzz_engines [--engine NAME] [--cases N | --seconds N] [--seed S] [--case ONE] [--trace 1]
//   --cases N     of each engine (1000)
//   --seconds N   for each engine; which cases they are depends on the seed alone
//   --trace 1     names each case before it runs, for those that end the program
// prints `fuzz_<engine> cases V`, `accepted V`, `refused V`, `wrong V`; exit 1 where one is wrong, or where
// 1000 or more cases were all accepted or all refused
#include <wafer/error.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "engine.hpp"

namespace {

constexpr fuzz::Engine kEngines[] = {
    {"packer", fuzz::run_packer},
    {"floorplan", fuzz::run_floorplan},
    {"files", fuzz::run_files},
    {"trees", fuzz::run_trees},
    {"collectives", fuzz::run_collectives},
    {"simulator", fuzz::run_simulator},
    {"pipeline", fuzz::run_pipeline},
};
constexpr int kMostFaults = 5;
constexpr std::uint64_t kEnoughCases = 1000;

struct Arguments {
  std::string engine;  // empty: all
  std::uint64_t cases = 1000, seconds = 0, seed = 1, first = 0;
  bool single = false, trace = false;
};

struct Counts {
  std::uint64_t cases = 0, accepted = 0, refused = 0;
  int wrong = 0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int usage() {
  std::fprintf(stderr,
               "usage: wafer_fuzz_engines [--engine NAME] [--cases N | --seconds N] [--seed S] [--case ONE] "
               "[--trace 1]\n"
               "engines:");
  for (const fuzz::Engine& engine : kEngines) std::fprintf(stderr, " %s", engine.name);
  std::fprintf(stderr, "\n");
  return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) return false;
    if (option == "--engine") {
      arguments.engine = argv[i + 1];
      bool known = false;
      for (const fuzz::Engine& engine : kEngines) known = known || arguments.engine == engine.name;
      if (!known) return false;
      continue;
    }
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(argv[i + 1], &end, 10);
    if (*end != 0 || end == argv[i + 1]) return false;
    if (option == "--cases") {
      arguments.cases = value;
    } else if (option == "--seconds") {
      arguments.seconds = value;
    } else if (option == "--seed") {
      arguments.seed = value;
    } else if (option == "--trace") {
      arguments.trace = value != 0;
    } else if (option == "--case") {
      arguments.single = true;
      arguments.first = value;
    } else {
      return false;
    }
  }
  return true;
}

void run_case(const fuzz::Engine& engine, const Arguments& arguments, std::uint64_t number, Counts& counts) {
  if (arguments.trace) {
    std::printf("%s --seed %llu --case %llu\n", engine.name, static_cast<unsigned long long>(arguments.seed),
                static_cast<unsigned long long>(number));
    std::fflush(stdout);
  }
  fuzz::Random random(arguments.seed, number);
  fuzz::Result result;
  result.trace = arguments.trace;
  try {
    engine.run(random, result);
  } catch (const std::exception& error) {
    result.fault = error.what();
  } catch (...) {
    result.fault = "something was thrown that is no exception";
  }
  ++counts.cases;
  ++(result.accepted ? counts.accepted : counts.refused);
  if (result.fault.empty()) return;
  ++counts.wrong;
  std::printf("WRONG %s --seed %llu --case %llu: %s\n  %s\n", engine.name,
              static_cast<unsigned long long>(arguments.seed), static_cast<unsigned long long>(number),
              result.fault.c_str(), result.text.c_str());
  std::fflush(stdout);
}

bool run(const fuzz::Engine& engine, const Arguments& arguments) {
  Counts counts;
  const double end = now() + static_cast<double>(arguments.seconds);
  for (std::uint64_t number = arguments.first; counts.wrong < kMostFaults; ++number) {
    if (arguments.single && counts.cases == 1) break;
    if (arguments.seconds > 0 ? now() >= end : counts.cases >= arguments.cases) break;
    run_case(engine, arguments, number, counts);
  }
  const auto print = [&](const char* metric, std::uint64_t value) {
    std::printf("fuzz_%s %s %llu\n", engine.name, metric, static_cast<unsigned long long>(value));
  };
  print("cases", counts.cases);
  print("accepted", counts.accepted);
  print("refused", counts.refused);
  print("wrong", static_cast<std::uint64_t>(counts.wrong));
  std::fflush(stdout);
  const bool one_sided = counts.cases >= kEnoughCases && (counts.accepted == 0 || counts.refused == 0);
  if (one_sided) std::printf("fuzz_%s: all cases came to the same\n", engine.name);
  return counts.wrong == 0 && !one_sided;
}

}  // namespace

void fuzz::Result::tell(std::string what) {
  text = std::move(what);
  if (!trace) return;
  std::printf("  %s\n", text.c_str());
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return usage();
  bool right = true;
  for (const fuzz::Engine& engine : kEngines)
    if (arguments.engine.empty() || arguments.engine == engine.name) right = run(engine, arguments) && right;
  return right ? 0 : 1;
}
