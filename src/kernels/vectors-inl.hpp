// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// What the kernels of one target share. Included once per target, hence the guard that toggles.
#if defined(WAFER_KERNELS_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WAFER_KERNELS_VECTORS_INL_HPP
#undef WAFER_KERNELS_VECTORS_INL_HPP
#else
#define WAFER_KERNELS_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>
#include <wafer/core/dtype.hpp>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
using Mask = hn::Mask<Floats>;

inline constexpr Floats kFloats{};
inline constexpr Index kLanes = HWY_LANES(float);

HWY_INLINE Vector set(float value) { return hn::Set(kFloats, value); }

/// a / b, rounded once.
HWY_INLINE Vector divide(Vector a, Vector b) {
#if HWY_TARGET == HWY_EMU128
  for (Index i = 0; i < kLanes; ++i) a.raw[i] /= b.raw[i];  // Highway 1.2's gives 0 where b is 0
  return a;
#else
  return hn::Div(a, b);
#endif
}

/// The first `count` < kLanes elements at p, the other lanes being `rest`; reads nothing beyond.
HWY_INLINE Vector load_first(const float* p, Index count, float rest) {
#if HWY_CAP_GE256
  const Mask valid = hn::FirstN(kFloats, static_cast<size_t>(count));
  return hn::IfThenElse(valid, hn::MaskedLoad(valid, kFloats, p), set(rest));
#else  // Highway's masked load of 128 bits reads the whole vector
  HWY_ALIGN float lanes[kLanes];
  hn::Store(set(rest), kFloats, lanes);
  std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(float));
  return hn::Load(kFloats, lanes);
#endif
}

/// Writes the first `count` < kLanes lanes to p and nothing beyond.
HWY_INLINE void store_first(Vector v, Index count, float* p) {
#if HWY_CAP_GE256
  hn::BlendedStore(v, hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, p);
#else
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, kFloats, lanes);
  std::memcpy(p, lanes, static_cast<size_t>(count) * sizeof(float));
#endif
}

/// Four vectors whose blocks of four lanes are matrices of 4 x 4 elements, a row in each vector.
template <class D>
struct Blocks {
  hn::Vec<D> v0, v1, v2, v3;

  HWY_INLINE Blocks transposed() const {
    const D d;
    const hn::Repartition<double, D> pairs;
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));  // 00 10 01 11
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));  // 02 12 03 13
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    return {hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)),
            hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)),
            hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)),
            hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23))};
  }
};

/// The four elements at p of every fourth row, beginning with the first: as many rows as D has blocks.
template <class D>
HWY_INLINE hn::Vec<D> load_block(D d, const float* const* row, Index p) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, *row + p);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_block(half, row + hn::MaxLanes(half), p), load_block(half, row, p));
  }
}

/// The four elements at p of each of as many rows as D has lanes: row i in v(i % 4), block i / 4.
template <class D>
HWY_INLINE Blocks<D> load_blocks(D d, const float* const* row, Index p) {
  return {load_block(d, row, p), load_block(d, row + 1, p), load_block(d, row + 2, p),
          load_block(d, row + 3, p)};
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
