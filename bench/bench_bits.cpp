// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// One network, trained under every plan: any number of threads, meshes, cuts and micro-batches must give the
// same bits. usage: bench_bits [STEPS]     a line for each run; exit 1 where hashes differ or a plan did not
// do what it should
#include "../tests/support/bits.hpp"

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) {
  const wafer::Index steps = argc > 1 ? std::stol(argv[1]) : 50;
  bool good = true, batch_cut = false, feature_cut = false, both_cut = false;
  try {
    for (const bool adamw : {false, true}) {
      std::uint64_t expected = 0;
      wafer::Index runs = 0;
      for (const bits::Case& c : bits::all_cases(adamw)) {
        const bits::Outcome o = bits::run_case(c, steps);
        if (runs++ == 0) expected = o.hash;
        const bool batch = o.cuts.find("batch") != std::string::npos,
                   feature = o.cuts.find("feature") != std::string::npos;
        batch_cut = batch_cut || (batch && !feature);
        feature_cut = feature_cut || (feature && !batch);
        both_cut = both_cut || (batch && feature);
        const bool mesh = c.rows * c.columns > 1;
        const bool fine =
            o.hash == expected && o.threads == c.threads && !(mesh && (o.idle > 0 || o.moved_bytes == 0));
        good = good && fine;
        std::printf("%s hash %016llx took_part %lld blocks %lld idle %lld %s moved_bytes %lld%s\n",
                    c.text().c_str(), static_cast<unsigned long long>(o.hash),
                    static_cast<long long>(o.threads), static_cast<long long>(o.blocks),
                    static_cast<long long>(o.idle), o.cuts.c_str(), static_cast<long long>(o.moved_bytes),
                    fine ? "" : " WRONG");
        std::fflush(stdout);
      }
      std::printf("bits_%s runs %lld hash %016llx\n", adamw ? "adamw" : "sgd", static_cast<long long>(runs),
                  static_cast<unsigned long long>(expected));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  if (!batch_cut || !feature_cut || !both_cut) std::printf("no plan cut the batch, a feature, or both\n");
  good = good && batch_cut && feature_cut && both_cut;
  std::printf("bits %s\n", good ? "all equal" : "WRONG");
  return good ? 0 : 1;
}
