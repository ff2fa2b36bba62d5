// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../random.hpp"

namespace fuzz {

/// What came of one case. Anything else that is thrown than wafer's errors for bad input, or InternalError,
/// is a fault too.
struct Result {
  bool accepted = false;  ///< a result came and satisfied its verify(); otherwise a typed error refused
  bool trace = false;     ///< print the case before it runs
  std::string fault;      ///< what is wrong; empty: nothing
  std::string text;       ///< the case, for reports

  void tell(std::string what);
};

/// One engine: draws a case and runs it.
struct Engine {
  const char* name;
  void (*run)(Random& random, Result& result);
};

void run_pipeline(Random& random, Result& result);
void run_packer(Random& random, Result& result);
void run_floorplan(Random& random, Result& result);
void run_files(Random& random, Result& result);
void run_trees(Random& random, Result& result);
void run_collectives(Random& random, Result& result);
void run_simulator(Random& random, Result& result);

/// A size as a hostile caller would choose it: negative, zero, small, near a power of two, near 2^63.
wafer::Index hostile(Random& random);
/// The same for cycles and rates: also infinite, or no number.
double hostile_real(Random& random);

}  // namespace fuzz
