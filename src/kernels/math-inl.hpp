// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// Functions of one vector of f32 for one target: Highway's, made right at the ends of their ranges. Targets
// with fused multiply-add give the same bits. Included once per target, hence the guard that toggles.
#if defined(WAFER_KERNELS_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WAFER_KERNELS_MATH_INL_HPP
#undef WAFER_KERNELS_MATH_INL_HPP
#else
#define WAFER_KERNELS_MATH_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kernels/vectors-inl.hpp"

// Portable code for four lanes is long, and a compiler with sanitizers takes minutes where it is inlined.
#undef WAFER_KERNELS_FUNCTION
#if HWY_TARGET == HWY_EMU128
#define WAFER_KERNELS_FUNCTION inline HWY_NOINLINE
#else
#define WAFER_KERNELS_FUNCTION HWY_INLINE
#endif

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// e^x within 1 ulp; e^−∞ = 0, e^∞ = ∞, NaN stays.
WAFER_KERNELS_FUNCTION Vector exp_of(Vector x) {
  // Beyond these bounds the result is 0 or ∞ in f32; Highway's reduction wants a small exponent.
  const Vector bounded = hn::Min(hn::Max(x, set(-110.0F)), set(90.0F));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(kFloats, bounded));
}

/// log x within 2 ulp, denormal x included; log 0 = −∞, log ∞ = ∞, NaN for x < 0.
WAFER_KERNELS_FUNCTION Vector log_of(Vector x) {
  const Vector zero = hn::Zero(kFloats);
  const Vector special = hn::IfThenElse(hn::Eq(x, zero), set(-kInfinity),
                                        hn::IfThenElse(hn::Lt(x, zero), set(kNan), x));  // else ∞ or NaN
  const Mask ordinary = hn::And(hn::Gt(x, zero), hn::Lt(x, set(kInfinity)));
  return hn::IfThenElse(ordinary, hn::Log(kFloats, x), special);
}

/// tanh x within 4 ulp; it is ±1 in f32 well before the bound.
WAFER_KERNELS_FUNCTION Vector tanh_of(Vector x) {
  const Vector bounded = hn::Min(hn::Max(x, set(-20)), set(20));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(kFloats, bounded));
}

/// 1 / (1 + e^−x) without overflow: e is at most 1.
WAFER_KERNELS_FUNCTION Vector sigmoid_of(Vector x) {
  const Vector e = exp_of(hn::Neg(hn::Abs(x)));
  const Vector one = set(1);
  return divide(hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), e, one), hn::Add(one, e));
}

// x/2 · (1 + tanh(u)) = x · sigmoid(2u) with 2u = x · (kGelu1 + kGelu3·x²), which also keeps the relative
// precision of the left tail. (Hendrycks and Gimpel, arXiv:1606.08415: u = √(2/π) · (x + 0.044715·x³).)
inline constexpr float kGelu1 = 1.5957691216057308F;   // 2 √(2/π)
inline constexpr float kGelu3 = 0.07135481627260025F;  // 2 √(2/π) · 0.044715
inline constexpr float kGeluBound = 30;                // where sigmoid(2u) has long been 0 or 1

/// −30 for what is below it; NaN stays. Keeps ∞ · 0 out of the left tail.
HWY_INLINE Vector from_below(Vector x) {
  return hn::IfThenElse(hn::Lt(x, set(-kGeluBound)), set(-kGeluBound), x);
}

WAFER_KERNELS_FUNCTION Vector gelu_of(Vector x) {
  const Vector bounded = from_below(x);
  const Vector slope = hn::MulAdd(hn::Mul(bounded, bounded), set(kGelu3), set(kGelu1));
  return hn::Mul(bounded, sigmoid_of(hn::Mul(bounded, slope)));
}

/// d gelu / dx = s + x · s (1 − s) · (2u)', with s = sigmoid(2u).
WAFER_KERNELS_FUNCTION Vector gelu_slope_of(Vector x) {
  const Vector below = from_below(x);
  const Vector bounded = hn::IfThenElse(hn::Gt(below, set(kGeluBound)), set(kGeluBound), below);
  const Vector one = set(1);
  const Vector square = hn::Mul(bounded, bounded);
  const Vector u2 = hn::Mul(bounded, hn::MulAdd(square, set(kGelu3), set(kGelu1)));
  const Vector e = exp_of(hn::Neg(hn::Abs(u2)));
  const Vector share = divide(one, hn::Add(one, e));
  const Vector s = hn::Mul(hn::IfThenElse(hn::Lt(u2, hn::Zero(kFloats)), e, one), share);
  const Vector s_slope = hn::Mul(hn::Mul(e, share), share);
  const Vector u2_slope = hn::MulAdd(square, set(3 * kGelu3), set(kGelu1));
  return hn::MulAdd(hn::Mul(bounded, s_slope), u2_slope, s);
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
