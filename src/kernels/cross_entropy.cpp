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

using Sixteen = Lanes<Floats, kVirtualLanes>;

/// exp(z − max) of a row of at most 16 classes. A missing element's is +0, which adds nothing.
HWY_INLINE RowSum exponentials_of_short_row(Index classes, const float* z, float* e) {
  const float max = max_of_row(classes, z);
  const Sixteen lanes = Sixteen::made_by(
      [&](Index l) HWY_ATTR { return exp_of(hn::Sub(load_up_to(z + l, classes - l, -kInfinity), set(max))); });
  lanes.for_each([&](Vector v, Index l) HWY_ATTR { hn::Store(v, kFloats, e + l); });
  return {max, 0.0F + lanes.total()};
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
  // The logarithms of kLanes rows at a time. A vector that reaches into the next row must not be stored while
  // that one is to be read (p may be z): the CPU would wait. So short rows are kept here meanwhile.
  HWY_ALIGN float totals[kLanes], at_label[kLanes], short_rows[kLanes * kVirtualLanes];
  const bool is_short = classes <= kVirtualLanes;
  for (Index begin = 0; begin < rows; begin += kLanes) {
    const Index count = std::min(kLanes, rows - begin);
    hn::Store(set(1), kFloats, totals);
    hn::Store(set(0), kFloats, at_label);
    for (Index i = 0; i < count; ++i) {
      const float* const row = z + (begin + i) * z_row;
      const float chosen = row[label[begin + i]];
      const RowSum sum = is_short ? exponentials_of_short_row(classes, row, short_rows + i * kVirtualLanes)
                                  : softmax_of_row(classes, row, p + (begin + i) * p_row);
      totals[i] = sum.total;
      at_label[i] = chosen - sum.max;
    }
    for (Index i = 0; is_short && i < count; ++i) {
      for (Index l = 0; l < classes; l += kLanes) {
        const Vector e = hn::Load(kFloats, short_rows + i * kVirtualLanes + l);
        store_up_to(divide(e, set(totals[i])), classes - l, p + (begin + i) * p_row + l);
      }
    }
    const Vector losses = hn::Sub(log_of(hn::Load(kFloats, totals)), hn::Load(kFloats, at_label));
    store_up_to(losses, count, loss + begin);
  }
}

void cross_entropy_gradient(Index rows, Index classes, const float* p, Index p_row, const std::int32_t* label,
                            const float* g, Index g_stride, float* dz, Index dz_row) {
  constexpr Index kRows = 16;
  HWY_ALIGN float short_rows[kRows * kVirtualLanes];  // see above
  const bool is_short = classes <= kVirtualLanes;
  for (Index begin = 0; begin < rows; begin += kRows) {
    const Index count = std::min(kRows, rows - begin);
    for (Index i = 0; is_short && i < count; ++i) {
      for (Index l = 0; l < classes; l += kLanes) {
        hn::Store(load_up_to(p + (begin + i) * p_row + l, classes - l, 1), kFloats,
                  short_rows + i * kVirtualLanes + l);
      }
    }
    for (Index i = begin; i < begin + count; ++i) {
      const float* const from = is_short ? short_rows + (i - begin) * kVirtualLanes : p + i * p_row;
      float* const to = dz + i * dz_row;
      const float g_of = g[i * g_stride];
      const float at_label = (from[label[i]] - 1) * g_of;  // dz may be p
      for (Index j = 0; j < classes; j += kLanes)
        store_up_to(hn::Mul(load_up_to(from + j, classes - j, 1), set(g_of)), classes - j, to + j);
      to[label[i]] = at_label;
    }
  }
}

}  // namespace

void fill_cross_entropy(Table& table) {
  table.cross_entropy = cross_entropy;
  table.cross_entropy_gradient = cross_entropy_gradient;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
