// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "engine.hpp"

namespace fuzz {

wafer::Index hostile(Random& random) {
  constexpr auto greatest = std::numeric_limits<wafer::Index>::max();
  const wafer::Index power = wafer::Index{1} << random.below(63);
  switch (random.below(8)) {
    case 0: return random.between(-3, 3);
    case 1: return random.below(1000);
    case 2: return power - 1;
    case 3: return power;
    case 4: return -power;
    case 5: return greatest - random.below(3);
    case 6: return -greatest - 1 + random.below(3);
    default: return random.below(greatest);
  }
}

double hostile_real(Random& random) {
  using Limits = std::numeric_limits<double>;
  switch (random.below(8)) {
    case 0: return 0;
    case 1: return -random.uniform(0, 2);
    case 2: return Limits::infinity();
    case 3: return -Limits::infinity();
    case 4: return Limits::quiet_NaN();
    case 5: return Limits::max();
    case 6: return Limits::denorm_min();
    default: return random.uniform(0, 1e7);
  }
}

}  // namespace fuzz
