// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/check_range.hpp>

#include "ops/elementwise.hpp"

#include <algorithm>
#include <utility>

namespace wafer::inline v0 {

Types CheckRange::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  ops::expect_dtype(in, 0, DType::i32, what);
  if (along < 0 || along >= std::max(1, in[0].shape.rank())) {
    throw UserError("expected a dimension of " + text_of(in[0]) + " to check along, got " +
                    std::to_string(along));
  }
  return in;
}

AxesRule CheckRange::axes(const Types& in) const {
  const Shape& shape = in[0].shape;
  AxesRule rule;
  AxesRule::Dims dims;
  for (int d = 0; d < shape.rank(); ++d) {
    dims.push_back(
        {d == along ? rule.parallel(ops::kDimNames[d], shape[d]) : rule.whole(ops::kDimNames[d], shape[d])});
  }
  rule.operand(dims);
  rule.result(dims);
  return rule;
}

Alias CheckRange::alias(const Types&) const { return {{0, 0}}; }

void CheckRange::run(const Context& context, Tiles in, Tiles out) const {
  const Tile& x = in[0];
  // The context names this op, and the layer path that both ops have.
  const auto where = [&] {
    std::string text(context.where);
    const std::size_t at = text.find(name);
    if (!op.empty() && at != text.npos) text.replace(at, name.size(), op);
    return text;
  };
  const auto check = [&](const std::array<Index, kMaxRank>& index) {
    const std::int32_t value = element<std::int32_t>(x, index);
    if (value >= low && value < high) return;
    std::string row;
    for (int d = 0; d < x.rank; ++d) {
      row += (d == 0 ? " in row " : ", ") + std::to_string(x.origin[ops::at(d)] + index[ops::at(d)]);
    }
    throw RunError(where() + ": " + what + row + ": expected a value in [" + std::to_string(low) + ", " +
                   std::to_string(high) + "), got " + std::to_string(value));
  };
  if (x.contiguous()) {  // the usual case: one look at all of them
    const std::int32_t* const values = x.as<std::int32_t>();
    const Index size = x.size();
    bool fits = true;
    for (Index i = 0; i < size; ++i) fits = fits & (values[i] >= low) & (values[i] < high);
    if (fits) return ops::copy(out[0], x);
  }
  const auto first = static_cast<std::size_t>(along);
  std::array<Index, kMaxRank> extent = x.extent;
  const Index rows = x.rank == 0 ? 1 : std::exchange(extent[first], 1);
  for (Index row = 0; row < rows; ++row) {
    for_each_index(x.rank, extent, [&](std::array<Index, kMaxRank> index) {
      index[first] += row;
      check(index);
    });
  }
  ops::copy(out[0], x);
}

}  // namespace wafer::inline v0
