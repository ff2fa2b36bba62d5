// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/cross_entropy.hpp>
#include <wafer/ops/mean.hpp>

#include "kernels/reference.hpp"
#include "kernels/table.hpp"
#include "ops/classes.hpp"
#include "ops/lanes.hpp"

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

struct Rule {
  AxesRule rule;
  AxesRule::Dims scores, rows;

  explicit Rule(const Shape& shape) {
    for (int d = 0; d < shape.rank() - 1; ++d) rows.push_back({rule.parallel(ops::kDimNames[d], shape[d])});
    scores = rows;
    scores.push_back({rule.whole("c", shape[shape.rank() - 1])});
  }
};

// One row of scores, shifted by its greatest element that is a number.
struct PlainRow {
  const float* z;
  Index stride, classes;
  float greatest = -std::numeric_limits<float>::infinity();

  PlainRow(const Tile& tile, const std::array<Index, kMaxRank>& index)
      : z(ops::address<float>(tile, index)),
        stride(tile.stride[ops::at(tile.rank - 1)]),
        classes(tile.extent[ops::at(tile.rank - 1)]) {
    for (Index j = 0; j < classes; ++j) greatest = z[j * stride] > greatest ? z[j * stride] : greatest;
  }
  float shifted(Index j) const { return z[j * stride] - greatest; }
  float exponential(Index j) const { return kernels::reference::exp(shifted(j)); }
  float total() const {
    return ops::sum_in_lanes<float>(classes, 0, [&](Index j) { return exponential(j); });
  }
};

}  // namespace

Types SoftmaxCrossEntropy::infer(const Types& in) const {
  ops::expect_inputs(in, 2);
  ops::expect_logits_and_label(in);
  return {{DType::f32, in[1].shape}};
}

AxesRule SoftmaxCrossEntropy::axes(const Types& in) const {
  Rule made(in[0].shape);
  made.rule.operand(made.scores);
  made.rule.operand(made.rows);
  made.rule.result(made.rows);
  return made.rule;
}

void SoftmaxCrossEntropy::run(const Context&, Tiles in, Tiles out) const {
  for_each_index(out[0].rank, out[0].extent, [&](const std::array<Index, kMaxRank>& index) {
    const PlainRow row(in[0], index);
    element<float>(out[0], index) =
        kernels::reference::log(row.total()) - row.shifted(element<std::int32_t>(in[1], index));
  });
}

Gradients SoftmaxCrossEntropy::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {apply(SoftmaxCrossEntropyGradient{}, {in[0], in[1], cotangents[0]}).at(0), {}};
}

Kernels SoftmaxCrossEntropy::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).cross_entropy;
             const Index classes = x[0].extent[ops::at(x[0].rank - 1)];
             ops::for_each_row(x[0], context.scratch,
                               [&](const std::array<Index, kMaxRank>& index, const float* row) {
                                 kernel(1, classes, row, classes, ops::address<std::int32_t>(x[1], index),
                                        ops::address<float>(y[0], index));
                               });
           },
           ops::row_scratch_bytes(in[0])}};
}

Types SoftmaxCrossEntropyGradient::infer(const Types& in) const {
  ops::expect_inputs(in, 3);
  ops::expect_logits_and_label(in);
  const TensorType rows{DType::f32, in[1].shape};
  if (in[2] != rows) throw UserError("expected a gradient " + text_of(rows) + ", got " + text_of(in[2]));
  return {in[0]};
}

AxesRule SoftmaxCrossEntropyGradient::axes(const Types& in) const {
  Rule made(in[0].shape);
  made.rule.operand(made.scores);
  made.rule.operand(made.rows);
  made.rule.operand(made.rows);
  made.rule.result(made.scores);
  return made.rule;
}
Alias SoftmaxCrossEntropyGradient::alias(const Types&) const { return {{0, 0}}; }

void SoftmaxCrossEntropyGradient::run(const Context&, Tiles in, Tiles out) const {
  const Index y_stride = out[0].stride[ops::at(out[0].rank - 1)];
  for_each_index(in[1].rank, in[1].extent, [&](const std::array<Index, kMaxRank>& index) {
    const PlainRow row(in[0], index);
    const float total = row.total();
    const float g = element<float>(in[2], index);
    const std::int32_t label = element<std::int32_t>(in[1], index);
    float* const y = ops::address<float>(out[0], index);
    for (Index j = 0; j < row.classes; ++j) {
      const float share = row.exponential(j) / total;
      y[j * y_stride] = (j == label ? share - 1 : share) * g;
    }
  });
}

Kernels SoftmaxCrossEntropyGradient::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).cross_entropy_gradient;
             const std::size_t last = ops::at(x[0].rank - 1);
             const Index classes = x[0].extent[last];
             const Index y_stride = y[0].stride[last];
             ops::for_each_row(
                 x[0], context.scratch, [&](const std::array<Index, kMaxRank>& index, const float* row) {
                   float* const to = ops::address<float>(y[0], index);
                   float* const adjacent =
                       y_stride == 1 || classes == 1 ? to : static_cast<float*>(context.scratch);
                   kernel(1, classes, row, classes, ops::address<std::int32_t>(x[1], index),
                          ops::address<float>(x[2], index), 0, adjacent, classes);
                   if (adjacent == to) return;
                   for (Index j = 0; j < classes; ++j) to[j * y_stride] = adjacent[j];
                 });
           },
           ops::row_scratch_bytes(in[0])}};
}

Tensor cross_entropy(Tensor logits, Tensor label) {
  const Tensor checked = ops::checked_label(OpHandle(SoftmaxCrossEntropy{}), logits, label);
  return mean(apply(SoftmaxCrossEntropy{}, {std::move(logits), checked}).at(0));
}

}  // namespace wafer::inline v0
