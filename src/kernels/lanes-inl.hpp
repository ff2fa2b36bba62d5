// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// The order of sums over a last axis (see SumRow in table.hpp) for one target. Included once per target,
// hence the guard that toggles.
#if defined(WAFER_KERNELS_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WAFER_KERNELS_LANES_INL_HPP
#undef WAFER_KERNELS_LANES_INL_HPP
#else
#define WAFER_KERNELS_LANES_INL_HPP
#endif

#include <algorithm>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {

inline constexpr Index kVirtualLanes = 16;
inline constexpr Index kChunk = 64;

/// Folds the lanes of one vector by halves.
template <class D>
HWY_INLINE hn::TFromD<D> fold(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// kCount virtual lanes: a vector, or a tree of pairs of them. (GCC 12 would spill an array.)
template <class D, Index kCount, bool kOne = (kCount == Index{hn::MaxLanes(D())})>
struct Lanes {
  using Half = Lanes<D, kCount / 2>;
  Half low, high;

  template <class Load>
  static HWY_INLINE Lanes from(const Load& load, const float* p) {
    return {Half::from(load, p), Half::from(load, p + kCount / 2)};
  }
  /// f(l) is the vector of lanes l, l + 1, ...
  template <class F>
  static HWY_INLINE Lanes made_by(const F& f, Index l = 0) {
    return {Half::made_by(f, l), Half::made_by(f, l + kCount / 2)};
  }
  template <class F>
  HWY_INLINE void for_each(const F& f, Index l = 0) const {
    low.for_each(f, l);
    high.for_each(f, l + kCount / 2);
  }
  HWY_INLINE Lanes plus(const Lanes& other) const { return {low.plus(other.low), high.plus(other.high)}; }
  HWY_INLINE hn::TFromD<D> total() const { return low.plus(high).total(); }
};

template <class D, Index kCount>
struct Lanes<D, kCount, true> {
  hn::Vec<D> vector;

  template <class Load>
  static HWY_INLINE Lanes from(const Load& load, const float* p) {
    return {load(p)};
  }
  template <class F>
  static HWY_INLINE Lanes made_by(const F& f, Index l = 0) {
    return {f(l)};
  }
  template <class F>
  HWY_INLINE void for_each(const F& f, Index l = 0) const {
    f(vector, l);
  }
  HWY_INLINE Lanes plus(const Lanes& other) const { return {hn::Add(vector, other.vector)}; }
  HWY_INLINE hn::TFromD<D> total() const { return fold(D(), vector); }
};

/// The terms of a sum: `load(p)` is a vector of them, from the elements at p; `kMissing` is an element whose
/// term adds nothing.
struct PlainTerms {
  using D = Floats;
  static constexpr float kMissing = -0.0F;
  HWY_INLINE Vector operator()(const float* p) const { return hn::LoadU(kFloats, p); }
};

/// The terms of `count` <= 16 elements at x, one to a lane.
template <class Terms>
HWY_INLINE auto sixteen(const Terms& terms, const float* x, Index count) {
  using Sixteen = Lanes<typename Terms::D, kVirtualLanes>;
  if (count >= kVirtualLanes) return Sixteen::from(terms, x);
  HWY_ALIGN float padded[kVirtualLanes];  // written in whole vectors, as they are read: else the CPU waits
  for (Index l = 0; l < kVirtualLanes; l += kLanes) {
    const Vector v = count - l >= kLanes ? hn::LoadU(kFloats, x + l)
                     : count - l > 0     ? load_first(x + l, count - l, Terms::kMissing)
                                         : set(Terms::kMissing);
    hn::Store(v, kFloats, padded + l);
  }
  return Sixteen::from(terms, padded);
}

/// start + the terms of x[0..n).
template <class Terms, class T = hn::TFromD<typename Terms::D>>
HWY_INLINE T sum_terms(const Terms& terms, Index n, const float* x, T start) {
  for (Index chunk = 0; chunk < n; chunk += kChunk) {
    const Index end = std::min(n, chunk + kChunk);
    auto lanes = sixteen(terms, x + chunk, end - chunk);
    for (Index i = chunk + kVirtualLanes; i < end; i += kVirtualLanes)
      lanes = lanes.plus(sixteen(terms, x + i, end - i));
    start += lanes.total();
  }
  return start;
}

/// The lanes l, l + kLanesApart, ... of a chunk of `count` <= 64 elements, folded, for as many rows as a
/// vector holds: they lie side by side, their elements `stride` apart.
template <Index kLanesApart, class Terms, class Rows = hn::Vec<typename Terms::D>>
HWY_INLINE Rows fold_rows(const Terms& terms, Index count, const float* x, Index stride, Index l) {
  if constexpr (kLanesApart < kVirtualLanes) {
    return hn::Add(fold_rows<2 * kLanesApart>(terms, count, x, stride, l),
                   fold_rows<2 * kLanesApart>(terms, count, x, stride, l + kLanesApart));
  } else {
    if (l >= count) return hn::Set(typename Terms::D(), -0.0);
    Rows lane = terms(x + l * stride);
    for (Index i = l + kVirtualLanes; i < count; i += kVirtualLanes)
      lane = hn::Add(lane, terms(x + i * stride));
    return lane;
  }
}

/// From +0, the terms of each of such rows of n elements.
template <class Terms>
HWY_INLINE auto sum_terms_of_rows(const Terms& terms, Index n, const float* x, Index stride) {
  auto sums = hn::Zero(typename Terms::D());
  for (Index chunk = 0; chunk < n; chunk += kChunk)
    sums = hn::Add(sums, fold_rows<1>(terms, std::min(kChunk, n - chunk), x + chunk * stride, stride, 0));
  return sums;
}

/// From +0, the terms of one row whose elements are `stride` apart.
template <class Terms>
HWY_INLINE auto sum_terms_of_row(const Terms& terms, Index n, const float* x, Index stride) {
  hn::TFromD<typename Terms::D> sum = 0;
  for (Index chunk = 0; chunk < n; chunk += kChunk) {
    HWY_ALIGN float adjacent[kChunk];
    const Index count = std::min(kChunk, n - chunk);
    for (Index i = 0; i < count; ++i) adjacent[i] = x[(chunk + i) * stride];
    sum = sum_terms(terms, count, adjacent, sum);
  }
  return sum;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
