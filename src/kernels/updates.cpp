// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/updates.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Vector load(const float* p, Index count) {
  return count < kLanes ? load_first(p, count, 0) : hn::LoadU(kFloats, p);
}

HWY_INLINE void store(Vector v, float* p, Index count) {
  if (count < kLanes) {
    store_first(v, count, p);
  } else {
    hn::StoreU(v, kFloats, p);
  }
}

/// Moments that have faded to denormal numbers. They are kept as 0: 0.9 times the least few of them rounds to
/// themselves, so that those of a unit which gets no gradients stayed for ever, and Intel's cores take some
/// hundred cycles for each.
HWY_INLINE auto faded(Vector moment) { return hn::Lt(hn::Abs(moment), set(kLeastNormal)); }

// Each rule below updates one vector, or the first `count` lanes of it.

HWY_INLINE Vector sgd_direction(Vector p, const float* g, Index count, const SgdScalars& scalars) {
  const Vector d = hn::Mul(load(g, count), set(scalars.scale));
  // No product with a weight decay of 0: it would make NaN of an infinite weight.
  return scalars.weight_decay == 0 ? d : hn::MulAdd(set(scalars.weight_decay), p, d);
}

HWY_INLINE void sgd_step(float* p, const float* g, Index count, const SgdScalars& scalars) {
  const Vector weight = load(p, count);
  const Vector d = sgd_direction(weight, g, count, scalars);
  store(hn::NegMulAdd(set(scalars.learning_rate), d, weight), p, count);
}

HWY_INLINE void momentum_step(float* p, float* m, const float* g, Index count, const SgdScalars& scalars) {
  const Vector weight = load(p, count);
  const Vector d = sgd_direction(weight, g, count, scalars);
  const Vector moment = hn::MulAdd(set(scalars.momentum), load(m, count), d);
  const Vector step = scalars.nesterov ? hn::MulAdd(set(scalars.momentum), moment, d) : moment;
  store(hn::IfThenZeroElse(faded(moment), moment), m, count);
  store(hn::NegMulAdd(set(scalars.learning_rate), step, weight), p, count);
}

HWY_INLINE void adamw_step(float* p, float* m, float* v, const float* g, Index count,
                           const AdamwScalars& scalars) {
  const Vector d = hn::Mul(load(g, count), set(scalars.scale));
  const Vector moment =
      hn::MulAdd(set(scalars.one_minus_beta1), d, hn::Mul(set(scalars.beta1), load(m, count)));
  const Vector variance =
      hn::MulAdd(hn::Mul(set(scalars.one_minus_beta2), d), d, hn::Mul(set(scalars.beta2), load(v, count)));
  const Vector root = hn::Add(divide(hn::Sqrt(variance), set(scalars.sqrt_bias2)), set(scalars.epsilon));
  const Vector step = divide(hn::Mul(set(scalars.step_size), moment), root);
  // Where the first moment is 0 nothing is divided by the root of the second, unless that is all there is.
  const auto first_faded = faded(moment);
  const auto both_faded = hn::And(first_faded, hn::Lt(variance, set(scalars.epsilon > 0 ? kLeastNormal : 0)));
  store(hn::IfThenZeroElse(first_faded, moment), m, count);
  store(hn::IfThenZeroElse(both_faded, variance), v, count);
  store(hn::Sub(hn::Mul(load(p, count), set(scalars.decay)), step), p, count);
}

// Calls step(j, count) for the vectors of a row.
template <class Step>
HWY_INLINE void for_each_vector(Index cols, const Step& step) {
  Index j = 0;
  for (; j + kLanes <= cols; j += kLanes) step(j, kLanes);
  if (j < cols) step(j, cols - j);
}

void sgd_update(Index rows, Index cols, Rows p, Rows m, ConstRows g, const SgdScalars& given) {
  const SgdScalars scalars = given;  // a copy that no store can alias
  for (Index i = 0; i < rows; ++i) {
    float* const weights = p.data + i * p.row;
    const float* const gradients = g.data + i * g.row;
    if (m.data == nullptr) {
      for_each_vector(
          cols, [&](Index j, Index count) HWY_ATTR { sgd_step(weights + j, gradients + j, count, scalars); });
    } else {
      float* const moments = m.data + i * m.row;
      for_each_vector(cols, [&](Index j, Index count) HWY_ATTR {
        momentum_step(weights + j, moments + j, gradients + j, count, scalars);
      });
    }
  }
}

void adamw_update(Index rows, Index cols, Rows p, Rows m, Rows v, ConstRows g, const AdamwScalars& given) {
  const AdamwScalars scalars = given;
  for (Index i = 0; i < rows; ++i) {
    float* const weights = p.data + i * p.row;
    float* const moments = m.data + i * m.row;
    float* const variances = v.data + i * v.row;
    const float* const gradients = g.data + i * g.row;
    for_each_vector(cols, [&](Index j, Index count) HWY_ATTR {
      adamw_step(weights + j, moments + j, variances + j, gradients + j, count, scalars);
    });
  }
}

}  // namespace

void fill_updates(Table& table) {
  table.sgd_update = sgd_update;
  table.adamw_update = adamw_update;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
