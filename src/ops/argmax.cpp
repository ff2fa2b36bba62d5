// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/argmax.hpp>

#include "kernels/table.hpp"
#include "ops/classes.hpp"

namespace wafer::inline v0 {

Types Argmax::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  ops::expect_scores(in[0], "scores");
  return {{DType::i32, ops::rows_of(in[0].shape)}};
}

AxesRule Argmax::axes(const Types& in) const {
  const Shape& shape = in[0].shape;
  AxesRule rule;
  AxesRule::Dims dims;
  for (int d = 0; d < shape.rank() - 1; ++d) dims.push_back({rule.parallel(ops::kDimNames[d], shape[d])});
  rule.result(dims);
  dims.push_back({rule.whole("c", shape[shape.rank() - 1])});
  rule.operand(dims);
  return rule;
}

void Argmax::run(const Context&, Tiles in, Tiles out) const {
  const std::size_t last = ops::at(in[0].rank - 1);
  for_each_index(out[0].rank, out[0].extent, [&](const std::array<Index, kMaxRank>& index) {
    const float* row = ops::address<float>(in[0], index);
    element<std::int32_t>(out[0], index) =
        static_cast<std::int32_t>(ops::argmax(in[0].extent[last], row, in[0].stride[last]));
  });
}

Kernels Argmax::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).argmax;
             const Index classes = x[0].extent[ops::at(x[0].rank - 1)];
             ops::for_each_row(x[0], context.scratch,
                               [&](const std::array<Index, kMaxRank>& index, const float* row) {
                                 kernel(1, classes, row, classes, ops::address<std::int32_t>(y[0], index));
                               });
           },
           ops::row_scratch_bytes(in[0])}};
}

Tensor argmax(Tensor x) { return std::move(x) | Argmax{}; }

}  // namespace wafer::inline v0
