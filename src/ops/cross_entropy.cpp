// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/add.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/cross_entropy.hpp>
#include <wafer/ops/mean.hpp>
#include <wafer/ops/sum.hpp>

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

// Rows of classes as a kernel takes them: `row` apart, classes adjacent.
struct Scores {
  float* data = nullptr;
  Index row = 0;
};

// Calls f(rows, scores of x, scores of y, label, value of each row): once where the operands are matrices
// and vectors without gaps, else row by row, through scratch where classes are not adjacent.
template <class F>
void for_each_scores(const Context& context, const Tile& x, const Tile& y, const Tile& label,
                     const Tile& value, const F& f) {
  const std::size_t last = ops::at(x.rank - 1);
  const Index classes = x.extent[last];
  const auto adjacent = [&](const Tile& tile) { return tile.stride[last] == 1 || classes == 1; };
  const auto vector = [](const Tile& tile) { return tile.stride[0] == 1 || tile.extent[0] == 1; };
  if (x.rank == 2 && adjacent(x) && adjacent(y) && vector(label) && vector(value)) {
    return f(x.extent[0], Scores{x.as<float>(), x.stride[0]}, Scores{y.as<float>(), y.stride[0]},
             label.as<std::int32_t>(), value.as<float>());
  }
  ops::for_each_row(x, context.scratch, [&](const std::array<Index, kMaxRank>& index, const float* row) {
    float* const to = ops::address<float>(y, index);
    // A row of x that was not adjacent is in scratch already, and may be written over.
    float* const result = adjacent(y) ? to : static_cast<float*>(context.scratch);
    f(1, Scores{const_cast<float*>(row), classes}, Scores{result, classes},
      ops::address<std::int32_t>(label, index), ops::address<float>(value, index));
    for (Index j = 0; result != to && j < classes; ++j) to[j * y.stride[last]] = result[j];
  });
}

}  // namespace

Types SoftmaxCrossEntropy::infer(const Types& in) const {
  ops::expect_inputs(in, 2);
  ops::expect_logits_and_label(in);
  return {{DType::f32, in[1].shape}, in[0]};
}

AxesRule SoftmaxCrossEntropy::axes(const Types& in) const {
  Rule made(in[0].shape);
  made.rule.operand(made.scores);
  made.rule.operand(made.rows);
  made.rule.result(made.rows);
  made.rule.result(made.scores);
  return made.rule;
}
Alias SoftmaxCrossEntropy::alias(const Types&) const { return {{1, 0}}; }

Cost SoftmaxCrossEntropy::cost(const Types& in) const {
  // An exponential is about 20 operations; maximum, sum and quotient of a row, which wait for each other, as
  // many again. Long rows are computed in whole vectors.
  constexpr double kOperations = 40;
  const double rows = static_cast<double>(in[1].shape.size());
  const Index classes = in[0].shape[in[0].shape.rank() - 1];
  const double computed = static_cast<double>(classes > 16 ? round_up(classes, 16) : classes);
  return {rows * computed * kOperations, 2.0 * static_cast<double>(bytes_of(in[0]) + bytes_of(in[1]))};
}

void SoftmaxCrossEntropy::run(const Context&, Tiles in, Tiles out) const {
  const Index p_stride = out[1].stride[ops::at(out[1].rank - 1)];
  for_each_index(out[0].rank, out[0].extent, [&](const std::array<Index, kMaxRank>& index) {
    const PlainRow row(in[0], index);
    const float total = row.total();
    element<float>(out[0], index) =
        kernels::reference::log(total) - row.shifted(element<std::int32_t>(in[1], index));
    float* const p = ops::address<float>(out[1], index);
    for (Index j = 0; j < row.classes; ++j) p[j * p_stride] = row.exponential(j) / total;
  });
}

Gradients SoftmaxCrossEntropy::gradient(Inputs in, Outputs out, Cotangents cotangents) const {
  Tensor dz;
  if (cotangents[0]) dz = apply(SoftmaxCrossEntropyGradient{}, {out[1], in[1], cotangents[0]}).at(0);
  if (cotangents[1]) {  // p (dp − Σ_j p_j dp_j)
    const Tensor &p = out[1], &dp = cotangents[1];
    const Tensor through = p * (dp - sum_keep(p * dp, {-1}));
    dz = dz ? dz + through : through;
  }
  return {dz, {}};
}

Kernels SoftmaxCrossEntropy::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).cross_entropy;
             const Index classes = x[0].extent[ops::at(x[0].rank - 1)];
             for_each_scores(context, x[0], y[1], x[1], y[0],
                             [&](Index rows, Scores z, Scores p, const std::int32_t* label, float* loss) {
                               kernel(rows, classes, z.data, z.row, label, loss, p.data, p.row);
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
  const std::size_t last = ops::at(in[0].rank - 1);
  const Index p_stride = in[0].stride[last], y_stride = out[0].stride[last];
  for_each_index(in[1].rank, in[1].extent, [&](const std::array<Index, kMaxRank>& index) {
    const float* const p = ops::address<float>(in[0], index);
    float* const y = ops::address<float>(out[0], index);
    const float g = element<float>(in[2], index);
    const std::int32_t label = element<std::int32_t>(in[1], index);
    for (Index j = 0; j < in[0].extent[last]; ++j)
      y[j * y_stride] = (j == label ? p[j * p_stride] - 1 : p[j * p_stride]) * g;
  });
}

Kernels SoftmaxCrossEntropyGradient::kernels(const Types& in) const {
  return {{[](const void*, const Context& context, Tiles x, Tiles y) {
             const auto kernel = kernels::table(context.target).cross_entropy_gradient;
             const Index classes = x[0].extent[ops::at(x[0].rank - 1)];
             for_each_scores(context, x[0], y[0], x[1], x[2],
                             [&](Index rows, Scores p, Scores dz, const std::int32_t* label, float* g) {
                               kernel(rows, classes, p.data, p.row, label, g, 1, dz.data, dz.row);
                             });
           },
           ops::row_scratch_bytes(in[0])}};
}

Tensor cross_entropy(Tensor logits, Tensor label) {
  const Tensor checked = ops::checked_label(OpHandle(SoftmaxCrossEntropy{}), logits, label);
  return mean(apply(SoftmaxCrossEntropy{}, {std::move(logits), checked}).at(0));
}

}  // namespace wafer::inline v0
