// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/count_correct.hpp>

#include "kernels/table.hpp"
#include "ops/classes.hpp"

namespace wafer::inline v0 {

Types CountCorrect::infer(const Types& in) const {
  ops::expect_inputs(in, 2);
  ops::expect_logits_and_label(in);
  return {{DType::i32, Shape{}}};
}

AxesRule CountCorrect::axes(const Types& in) const {
  const Shape& shape = in[0].shape;
  AxesRule rule;
  AxesRule::Dims rows;
  for (int d = 0; d < shape.rank() - 1; ++d) {
    rows.push_back(
        {d == 0 ? rule.reduced(ops::kDimNames[d], shape[d]) : rule.whole(ops::kDimNames[d], shape[d])});
  }
  AxesRule::Dims logits = rows;
  logits.push_back({rule.whole("c", shape[shape.rank() - 1])});
  rule.operand(logits);
  rule.operand(rows);
  rule.result({});
  return rule;
}

void CountCorrect::run(const Context& context, Tiles in, Tiles out) const {
  const std::size_t last = ops::at(in[0].rank - 1);
  std::int32_t& count = *out[0].as<std::int32_t>();
  if (!context.accumulate) count = 0;
  for_each_index(in[1].rank, in[1].extent, [&](const std::array<Index, kMaxRank>& index) {
    const Index best = ops::argmax(in[0].extent[last], ops::address<float>(in[0], index), in[0].stride[last]);
    if (best == element<std::int32_t>(in[1], index)) ++count;
  });
}

Kernels CountCorrect::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).argmax;
             const Index classes = x[0].extent[ops::at(x[0].rank - 1)];
             std::int32_t count = context.accumulate ? *y[0].as<std::int32_t>() : 0;
             ops::for_each_row(x[0], context.scratch,
                               [&](const std::array<Index, kMaxRank>& index, const float* row) {
                                 std::int32_t best = 0;
                                 kernel(1, classes, row, classes, &best);
                                 if (best == element<std::int32_t>(x[1], index)) ++count;
                               });
             *y[0].as<std::int32_t>() = count;
           },
           ops::row_scratch_bytes(in[0])}};
}

Tensor count_correct(Tensor logits, Tensor label) {
  const Tensor checked = ops::checked_label(OpHandle(CountCorrect{}), logits, label);
  return apply(CountCorrect{}, {std::move(logits), checked}).at(0);
}

}  // namespace wafer::inline v0
