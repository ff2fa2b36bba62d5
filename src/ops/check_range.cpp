// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/check_range.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

Types CheckRange::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  ops::expect_dtype(in, 0, DType::i32, what);
  return in;
}
AxesRule CheckRange::axes(const Types& in) const { return elementwise_rule(in, in[0].shape); }
Alias CheckRange::alias(const Types&) const { return {{0, 0}}; }

void CheckRange::run(const Context& context, Tiles in, Tiles out) const {
  const Tile& x = in[0];
  for_each_index(x.rank, x.extent, [&](const std::array<Index, kMaxRank>& index) {
    const std::int32_t value = element<std::int32_t>(x, index);
    if (value >= low && value < high) return;
    std::string row;
    for (int d = 0; d < x.rank; ++d) {
      row += (d == 0 ? "" : ", ") + std::to_string(x.origin[ops::at(d)] + index[ops::at(d)]);
    }
    throw RunError(std::string(context.where) + ": " + what + " in row " + row + ": expected a value in [" +
                   std::to_string(low) + ", " + std::to_string(high) + "), got " + std::to_string(value));
  });
  ops::copy(out[0], x);
}

}  // namespace wafer::inline v0
