// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cross_entropy.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/lanes-inl.hpp"
#include "kernels/math-inl.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {
namespace {

/// The greatest element that is a number; a NaN shows in the sum of exponentials instead.
HWY_INLINE float max_of_row(Index n, const float* z) {
  Vector greatest = set(-kInfinity);
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const Vector v = hn::LoadU(kFloats, z + j);
    greatest = hn::IfThenElse(hn::Gt(v, greatest), v, greatest);
  }
  if (j < n) {
    const Vector v = load_first(z + j, n - j, -kInfinity);
    greatest = hn::IfThenElse(hn::Gt(v, greatest), v, greatest);
  }
  return hn::GetLane(hn::MaxOfLanes(kFloats, greatest));
}

/// The `count` elements at p, which may be none or more than a vector has; other lanes are `rest`.
HWY_INLINE Vector load_up_to(const float* p, Index count, float rest) {
  return count >= kLanes ? hn::LoadU(kFloats, p) : count > 0 ? load_first(p, count, rest) : set(rest);
}
HWY_INLINE void store_up_to(Vector v, Index count, float* p) {
  if (count >= kLanes) {
    hn::StoreU(v, kFloats, p);
  } else if (count > 0) {
    store_first(v, count, p);
  }
}

/// What a row comes to: its greatest element, and the sum of exp(z − max).
struct RowSum {
  float max, total;
};

/// A row of at most 16 classes stays in registers. A missing element's exponential is +0, which adds nothing.
HWY_INLINE RowSum softmax_of_short_row(Index classes, const float* z, float* p) {
  using Sixteen = Lanes<Floats, kVirtualLanes>;
  const float max = max_of_row(classes, z);
  const Sixteen e = Sixteen::made_by([&](Index l) HWY_ATTR {
    return exp_of(hn::Sub(load_up_to(z + l, classes - l, -kInfinity), set(max)));
  });
  const float total = 0.0F + e.total();
  e.for_each([&](Vector v, Index l) HWY_ATTR { store_up_to(divide(v, set(total)), classes - l, p + l); });
  return {max, total};
}

HWY_INLINE RowSum softmax_of_row(Index classes, const float* z, float* p) {
  const float max = max_of_row(classes, z);
  for (Index j = 0; j < classes; j += kLanes) {
    store_up_to(exp_of(hn::Sub(load_up_to(z + j, classes - j, -kInfinity), set(max))), classes - j, p + j);
  }
  const float total = sum_terms(PlainTerms(), classes, p, 0.0F);
  for (Index j = 0; j < classes; j += kLanes)
    store_up_to(divide(load_up_to(p + j, classes - j, 1), set(total)), classes - j, p + j);
  return {max, total};
}

void cross_entropy(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                   float* loss, float* p, Index p_row) {
  // The logarithms of kLanes rows at a time.
  HWY_ALIGN float totals[kLanes], at_label[kLanes];
  for (Index begin = 0; begin < rows; begin += kLanes) {
    const Index count = std::min(kLanes, rows - begin);
    hn::Store(set(1), kFloats, totals);
    hn::Store(set(0), kFloats, at_label);
    for (Index i = 0; i < count; ++i, z += z_row, p += p_row) {
      const float chosen = z[label[begin + i]];  // p may be z
      const RowSum sum =
          classes <= kVirtualLanes ? softmax_of_short_row(classes, z, p) : softmax_of_row(classes, z, p);
      totals[i] = sum.total;
      at_label[i] = chosen - sum.max;
    }
    const Vector losses = hn::Sub(log_of(hn::Load(kFloats, totals)), hn::Load(kFloats, at_label));
    store_up_to(losses, count, loss + begin);
  }
}

void cross_entropy_gradient(Index rows, Index classes, const float* p, Index p_row, const std::int32_t* label,
                            const float* g, Index g_stride, float* dz, Index dz_row) {
  for (Index i = 0; i < rows; ++i, p += p_row, dz += dz_row, g += g_stride) {
    const float at_label = (p[label[i]] - 1) * *g;  // dz may be p
    const Vector factor = set(*g);
    for (Index j = 0; j < classes; j += kLanes)
      store_up_to(hn::Mul(load_up_to(p + j, classes - j, 1), factor), classes - j, dz + j);
    dz[label[i]] = at_label;
  }
}

}  // namespace

void fill_cross_entropy(Table& table) {
  table.cross_entropy = cross_entropy;
  table.cross_entropy_gradient = cross_entropy_gradient;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
