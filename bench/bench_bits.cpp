// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// One network, trained under every plan and with every kernel target that this CPU has: any number of
// threads, meshes, cuts and micro-batches must give the same bits, and so must all targets with fused
// multiply-add, and all without. usage: bench_bits [STEPS]     80 plans for each optimizer with the best
// target, every seventh of them with the others; a line for each run. Exit 1 where hashes differ, where a
// plan did not do what it should, or where the two kinds of targets differ by more than 1e-5: the loss
// relatively, every 97th weight absolutely.
#include "../tests/support/bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using bits::Index;

constexpr std::size_t kOthersStride = 7;  // 12 of 80 plans with targets that are not the best

/// What all runs together must show.
struct Verdict {
  bool good = true, batch_cut = false, feature_cut = false, both_cut = false;

  /// Runs a case, prints its line, and compares with the hash that is expected where there is one.
  bits::Outcome run(const bits::Case& c, Index steps, const std::uint64_t* expected) {
    bits::Outcome o = bits::run_case(c, steps);
    const bool batch = o.cuts.find("batch") != std::string::npos,
               feature = o.cuts.find("feature") != std::string::npos;
    batch_cut = batch_cut || (batch && !feature);
    feature_cut = feature_cut || (feature && !batch);
    both_cut = both_cut || (batch && feature);
    const bool mesh = c.rows * c.columns > 1;
    const bool fine = (!expected || o.hash == *expected) && o.threads == c.threads &&
                      !(mesh && (o.idle > 0 || o.moved_bytes == 0));
    good = good && fine;
    std::printf("%s hash %016llx took_part %lld blocks %lld idle %lld %s moved_bytes %lld%s\n",
                c.text().c_str(), static_cast<unsigned long long>(o.hash), static_cast<long long>(o.threads),
                static_cast<long long>(o.blocks), static_cast<long long>(o.idle), o.cuts.c_str(),
                static_cast<long long>(o.moved_bytes), fine ? "" : " WRONG");
    std::fflush(stdout);
    return o;
  }

  /// All plans of one optimizer with all targets of one kind; what the first one ends with.
  bits::Outcome run_kind(bool adamw, bool fused, Index steps) {
    bits::Outcome first;
    Index runs = 0;
    for (const bits::KernelTarget target : bits::targets(fused)) {
      const bool best = target == wafer::kernels::best_target();
      const std::vector<bits::Case> cases = bits::all_cases(adamw);
      for (std::size_t i = 0; i < cases.size(); i += best ? 1 : kOthersStride) {
        bits::Case c = cases[i];
        c.target = target;
        bits::Outcome o = run(c, steps, runs > 0 ? &first.hash : nullptr);
        if (runs++ == 0) first = std::move(o);
      }
    }
    std::printf("bits_%s_%s runs %lld hash %016llx\n", adamw ? "adamw" : "sgd", fused ? "fused" : "unfused",
                static_cast<long long>(runs), static_cast<unsigned long long>(first.hash));
    return first;
  }

  // As PyTorch is compared: the loss, and every 97th weight. AdamW turns the last bits of a gradient near its
  // epsilon into a part of a whole step, so single weights may differ more; the greatest difference is
  // printed.
  void compare(bool adamw, const bits::Outcome& fused, const bits::Outcome& unfused) {
    double sampled = 0, greatest = 0;
    for (std::size_t i = 0; i < fused.weights.size(); ++i) {
      const double difference =
          std::fabs(static_cast<double>(fused.weights[i]) - static_cast<double>(unfused.weights[i]));
      greatest = std::max(greatest, difference);
      if (i % 97 == 0) sampled = std::max(sampled, difference);
    }
    const double loss = std::fabs(fused.loss / unfused.loss - 1);
    const bool near = loss <= 1e-5 && sampled <= 1e-5;
    good = good && near;
    std::printf("bits_%s fused_against_unfused loss %.2e weights %.2e (every 97th), %.2e (all)%s\n",
                adamw ? "adamw" : "sgd", loss, sampled, greatest, near ? "" : " WRONG");
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Index steps = argc > 1 ? std::stol(argv[1]) : 50;
  Verdict verdict;
  try {
    for (const bool adamw : {false, true}) {
      const bits::Outcome unfused = verdict.run_kind(adamw, false, steps);
      if (bits::targets(true).empty()) continue;
      verdict.compare(adamw, verdict.run_kind(adamw, true, steps), unfused);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  const bool all_cut = verdict.batch_cut && verdict.feature_cut && verdict.both_cut;
  if (!all_cut) std::printf("no plan cut the batch, a feature, or both\n");
  std::printf("bits %s\n", verdict.good && all_cut ? "all equal" : "WRONG");
  return verdict.good && all_cut ? 0 : 1;
}
