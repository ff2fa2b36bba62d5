// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "counts.hpp"

#include <cstdint>
#include <string>

namespace fuzz {

struct Outcome {
  bool wrong = false;
  std::string text;  ///< what is wrong, and all that is needed to see it again
};

/// Makes graph `number` of a seed and a plan for it, and runs its steps. `verbose` fills the text of a good
/// one too.
Outcome run_graph(std::uint64_t seed, std::uint64_t number, bool verbose, Counts& counts);

}  // namespace fuzz
