// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "counts.hpp"

#include <algorithm>
#include <cstdio>

namespace fuzz {

namespace {

long long number(wafer::Index index) { return static_cast<long long>(index); }

void print_kinds(const char* what, const Counts::Kinds& kinds) {
  for (const auto& [name, count] : kinds) std::printf("%s %s %lld\n", what, name.c_str(), number(count));
}

}  // namespace

void Worst::see(double seen, std::string_view of) {
  if (seen <= value) return;
  value = seen;
  op = of;
}

bool Counts::print(wafer::Index least) const {
  print_kinds("op", ops);
  print_kinds("cut", cuts);
  print_kinds("collective", collectives);
  print_kinds("drawn", drawn);
  print_kinds("drawn_again", drawn_again);
  print_kinds("refused", refused);
  std::printf("graphs %lld plans %lld cut %lld gradients %lld trained %lld\n", number(graphs), number(plans),
              number(cut_plans), number(gradients), number(trained));
  std::printf("tensors_equal_in_every_bit %lld\n", number(compared));
  std::printf(
      "elements_against_f64 %lld held to 1e-5, worst %.3g (%s); near_kink_or_tie %lld not_finite %lld\n",
      number(evaluated), worst.value, worst.op.c_str(), number(near), number(not_finite));
  std::printf(
      "long_sums %lld elements %lld of up to n = %lld roundings, held to n u / (1 - n u) above 1e-5, "
      "worst %.3g of that (%s); above 1e-5 %lld, worst %.3g (%s)\n",
      number(long_sums.sums), number(long_sums.elements), number(long_sums.most_roundings),
      long_sums.worst_of_allowed.value, long_sums.worst_of_allowed.op.c_str(), number(long_sums.beyond),
      long_sums.worst.value, long_sums.worst.op.c_str());
  const auto enough = [&](const Kinds& kinds) {
    return std::all_of(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.second >= least; });
  };
  return enough(ops) && enough(cuts) && enough(collectives) && enough(drawn) && 2 * cut_plans >= plans;
}

}  // namespace fuzz
