// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/classes.hpp"

#include <wafer/graph/graph.hpp>
#include <wafer/ops/check_range.hpp>

#include <string>

namespace wafer::inline v0::ops {

void expect_scores(const TensorType& scores, std::string_view what) {
  const int rank = scores.shape.rank();
  if (scores.dtype == DType::f32 && rank > 0 && scores.shape[rank - 1] > 0) return;
  throw UserError("expected " + std::string(what) +
                  " of f32 with at least one class in the last dimension, got " + text_of(scores));
}

Shape rows_of(const Shape& scores) { return Shape(scores.extents().first(at(scores.rank() - 1))); }

void expect_logits_and_label(const Types& in) {
  expect_scores(in[0], "logits");
  const TensorType label{DType::i32, rows_of(in[0].shape)};
  if (in[1] == label) return;
  throw UserError("expected labels " + text_of(label) + " for logits " + text_of(in[0]) + ", got " +
                  text_of(in[1]));
}

Tensor checked_label(const OpHandle& op, const Tensor& logits, const Tensor& label) {
  if (!logits || !label || logits.data() != label.data()) {
    apply_handle(op, std::vector<Tensor>{logits, label});  // throws
  }
  const GraphData& data = *logits.data();
  try {
    op.infer({logits.type(), label.type()});
  } catch (const UserError& error) {
    throw UserError(data.here("op '" + std::string(op.name()) + "'") + ": " + error.what());
  }
  const NodeId source = data.values[label.value()].node;
  const std::string what = data.nodes[source].kind == NodeKind::op ? "" : " (" + data.where(source) + ")";
  Index along = 0;  // the batch, where there is one
  for (int d = label.rank() - 1; d >= 0; --d) {
    if (axis_of(label, d) >= 0) along = d;
  }
  const CheckRange check{"label" + what, 0, logits.dim(-1), along, std::string(op.name())};
  return wafer::apply(check, {label}).at(0);
}

Index argmax(Index n, const float* x, Index stride) {
  Index best = 0;
  for (Index i = 1; i < n; ++i) {
    const float greatest = x[best * stride];
    if (greatest != greatest) break;
    const float value = x[i * stride];
    if (value > greatest || value != value) best = i;
  }
  return best;
}

}  // namespace wafer::inline v0::ops
