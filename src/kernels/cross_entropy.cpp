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
  for (Index i = 0; i < rows; ++i, z += z_row) {
    const float max = max_of_row(classes, z);
    const float total = sum_terms(ShiftedExponentials{max}, classes, z, 0.0F);
    loss[i] = hn::GetLane(log_of(set(total))) - (z[label[i]] - max);
  }
}

/// y[j] = y[j] / total · g
HWY_INLINE void scale_row(Index n, float* y, float total, float g) {
  const Vector divisor = set(total);
  const Vector factor = set(g);
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    hn::StoreU(hn::Mul(divide(hn::LoadU(kFloats, y + j), divisor), factor), kFloats, y + j);
  }
  if (j < n) store_first(hn::Mul(divide(load_first(y + j, n - j, 1), divisor), factor), n - j, y + j);
}

HWY_INLINE void exponentials_of_row(Index n, const float* z, const ShiftedExponentials& exponentials,
                                    float* y) {
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(exponentials(z + j), kFloats, y + j);
  if (j < n) store_first(exponentials.of(load_first(z + j, n - j, -kInfinity)), n - j, y + j);
}

void cross_entropy_gradient(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                            const float* g, Index g_stride, float* dz, Index dz_row) {
  for (Index i = 0; i < rows; ++i, z += z_row, dz += dz_row, g += g_stride) {
    exponentials_of_row(classes, z, {max_of_row(classes, z)}, dz);
    const float total = sum_terms(PlainTerms(), classes, dz, 0.0F);
    const float at_label = (dz[label[i]] / total - 1) * *g;
    scale_row(classes, dz, total, *g);
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
