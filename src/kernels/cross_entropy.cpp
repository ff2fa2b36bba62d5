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

/// exp(z − max) of each element; of a missing one +0, which adds nothing to a sum of exponentials.
struct ShiftedExponentials {
  using D = Floats;
  static constexpr float kMissing = -kInfinity;
  float max;
  HWY_INLINE Vector operator()(const float* z) const { return of(hn::LoadU(kFloats, z)); }
  HWY_INLINE Vector of(Vector z) const { return exp_of(hn::Sub(z, set(max))); }
};

void cross_entropy(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                   float* loss) {
  // The logarithms of kLanes rows at a time.
  HWY_ALIGN float totals[kLanes], at_label[kLanes];
  for (Index begin = 0; begin < rows; begin += kLanes) {
    const Index count = std::min(kLanes, rows - begin);
    hn::Store(set(1), kFloats, totals);
    hn::Store(set(0), kFloats, at_label);
    for (Index i = 0; i < count; ++i, z += z_row) {
      const float max = max_of_row(classes, z);
      totals[i] = sum_terms(ShiftedExponentials{max}, classes, z, 0.0F);
      at_label[i] = z[label[begin + i]] - max;
    }
    const Vector losses = hn::Sub(log_of(hn::Load(kFloats, totals)), hn::Load(kFloats, at_label));
    if (count == kLanes) {
      hn::StoreU(losses, kFloats, loss + begin);
    } else {
      store_first(losses, count, loss + begin);
    }
  }
}

/// y[j] = e[j] / total · g
HWY_INLINE void scale_row(Index n, const float* e, float total, float g, float* y) {
  const Vector divisor = set(total);
  const Vector factor = set(g);
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    hn::StoreU(hn::Mul(divide(hn::LoadU(kFloats, e + j), divisor), factor), kFloats, y + j);
  }
  if (j < n) store_first(hn::Mul(divide(load_first(e + j, n - j, 1), divisor), factor), n - j, y + j);
}

HWY_INLINE void exponentials_of_row(Index n, const float* z, const ShiftedExponentials& exponentials,
                                    float* y) {
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(exponentials(z + j), kFloats, y + j);
  if (j < n) store_first(exponentials.of(load_first(z + j, n - j, -kInfinity)), n - j, y + j);
}

/// The same of a short row, with whole vectors: y has room for them.
HWY_INLINE void exponentials_of_short_row(Index n, const float* z, const ShiftedExponentials& exponentials,
                                          float* y) {
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::Store(exponentials(z + j), kFloats, y + j);
  if (j < n) hn::Store(exponentials.of(load_first(z + j, n - j, -kInfinity)), kFloats, y + j);
}

void cross_entropy_gradient(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                            const float* g, Index g_stride, float* dz, Index dz_row) {
  HWY_ALIGN float short_row[kChunk];  // a store of part of a vector is slow to read back
  const bool is_short = classes <= kChunk;
  for (Index i = 0; i < rows; ++i, z += z_row, dz += dz_row, g += g_stride) {
    float* const e = is_short ? short_row : dz;
    const ShiftedExponentials exponentials{max_of_row(classes, z)};
    if (is_short) {
      exponentials_of_short_row(classes, z, exponentials, e);
    } else {
      exponentials_of_row(classes, z, exponentials, e);
    }
    const float total = sum_terms(PlainTerms(), classes, e, 0.0F);
    const float at_label = (e[label[i]] / total - 1) * *g;
    scale_row(classes, e, total, *g, dz);
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
