// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace fuzz {

/// What a run of the fuzzer came by.
struct Counts {
  std::map<std::string, wafer::Index> ops;  ///< by name, as they ran
  std::map<std::string, wafer::Index> cuts{{"batch", 0}, {"feature", 0}, {"both", 0}};  ///< plans
  std::map<std::string, wafer::Index> collectives;  ///< by kind, in all plans
  std::map<std::string, wafer::Index> refused;      ///< plans that cannot be made, by message
  wafer::Index graphs = 0, plans = 0, cut_plans = 0, gradients = 0, trained = 0, hosts = 0, micro_batched = 0;
  wafer::Index compared = 0;              ///< tensors equal in every bit
  wafer::Index evaluated = 0;             ///< elements held against f64
  wafer::Index near = 0, not_finite = 0;  ///< elements that were not
  double worst = 0;                       ///< greatest error over the largest sum of magnitudes
  std::string worst_op;
};

struct Outcome {
  bool wrong = false;
  std::string text;  ///< what is wrong, and all that is needed to see it again
};

/// Makes graph `number` of a seed and a plan for it, and runs its steps. `verbose` fills the text of a good
/// one too.
Outcome run_graph(std::uint64_t seed, std::uint64_t number, bool verbose, Counts& counts);

}  // namespace fuzz
