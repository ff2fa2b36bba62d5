// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/broadcast_like.hpp>
#include <wafer/ops/sum_to.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

Types BroadcastLike::infer(const Types& in) const {
  ops::expect_inputs(in, 2);
  const Shape& shape = in[1].shape;
  if (broadcast(in[0].shape, shape) != shape) {
    throw UserError("expected a tensor that broadcasts to " + shape.text() + ", got " + text_of(in[0]));
  }
  if (in[0].dtype == DType::f64) ops::expect_number({DType::f64, shape}, ops::Integers::no);
  return {{in[0].dtype, shape}};
}
AxesRule BroadcastLike::axes(const Types& in) const { return elementwise_rule(in, in[1].shape); }

void BroadcastLike::run(const Context&, Tiles in, Tiles out) const { ops::copy(out[0], in[0]); }

Gradients BroadcastLike::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {sum_to(cotangents[0], in[0]), {}};
}

Tensor broadcast_like(Tensor x, Tensor like) {
  bool same = x.shape() == like.shape();
  for (int d = 0; same && d < x.rank(); ++d) same = ops::axis_of(x, d) == ops::axis_of(like, d);
  if (same) return x;
  return apply(BroadcastLike{}, {std::move(x), std::move(like)}).at(0);
}

}  // namespace wafer::inline v0
