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

#include <array>

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

// Short rows are computed kLanes at a time, each in a lane of its own, and a vector for each class: what is
// summed up in a row then needs no exchange of lanes. All of them are read before any is written, since p may
// be z.

/// The rows of such a group; where there are fewer, the last one again.
template <class T>
struct Group {
  std::array<T*, size_t{kLanes}> row;

  Group(T* first, Index stride, Index rows) {
    for (Index i = 0; i < kLanes; ++i) row[static_cast<size_t>(i)] = first + std::min(i, rows - 1) * stride;
  }
};

/// The reverse of load_block.
template <class D>
HWY_INLINE void store_block(D d, hn::Vec<D> v, float* const* row, Index j) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, *row + j);
  } else {
    const hn::Half<D> half;
    store_block(half, hn::LowerHalf(half, v), row, j);
    store_block(half, hn::UpperHalf(half, v), row + hn::MaxLanes(half), j);
  }
}

/// Calls f(j) for columns whose next four make up [0, classes); the last four may overlap others.
template <class F>
HWY_INLINE void for_each_four(Index classes, const F& f) {
  for (Index j = 0; j < classes; j += 4) f(std::min(j, classes - 4));
}

/// to[j][i] = element j of row i.
HWY_INLINE void gather(const Group<const float>& from, Index classes, float* to) {
  if (classes < 4) {
    for (Index j = 0; j < classes; ++j)
      for (Index i = 0; i < kLanes; ++i) to[j * kLanes + i] = from.row[static_cast<size_t>(i)][j];
    return;
  }
  const float* const* const row = from.row.data();
  for_each_four(classes, [&](Index j) HWY_ATTR {
    const Blocks<Floats> blocks = load_blocks(kFloats, row, j).transposed();
    hn::Store(blocks.v0, kFloats, to + j * kLanes);
    hn::Store(blocks.v1, kFloats, to + (j + 1) * kLanes);
    hn::Store(blocks.v2, kFloats, to + (j + 2) * kLanes);
    hn::Store(blocks.v3, kFloats, to + (j + 3) * kLanes);
  });
}

/// The reverse.
HWY_INLINE void scatter(const float* from, Index classes, const Group<float>& to) {
  if (classes < 4) {
    for (Index j = 0; j < classes; ++j)
      for (Index i = 0; i < kLanes; ++i) to.row[static_cast<size_t>(i)][j] = from[j * kLanes + i];
    return;
  }
  float* const* const row = to.row.data();
  for_each_four(classes, [&](Index j) HWY_ATTR {
    const Blocks<Floats> blocks =
        Blocks<Floats>{hn::Load(kFloats, from + j * kLanes), hn::Load(kFloats, from + (j + 1) * kLanes),
                       hn::Load(kFloats, from + (j + 2) * kLanes), hn::Load(kFloats, from + (j + 3) * kLanes)}
            .transposed();
    store_block(kFloats, blocks.v0, row, j);
    store_block(kFloats, blocks.v1, row + 1, j);
    store_block(kFloats, blocks.v2, row + 2, j);
    store_block(kFloats, blocks.v3, row + 3, j);
  });
}

/// The sum of lanes l, l + kStep, l + 2 kStep, ... in the order in which 16 lanes are folded by halves.
template <Index kStep>
HWY_INLINE Vector folded(const float* e, Index l) {
  if constexpr (kStep == kVirtualLanes) {
    return hn::Load(kFloats, e + l * kLanes);
  } else {
    return hn::Add(folded<2 * kStep>(e, l), folded<2 * kStep>(e, l + kStep));
  }
}

/// Cross-entropy of min(rows, kLanes) rows of at most 16 classes.
HWY_INLINE void cross_entropy_of_group(Index rows, Index classes, const float* z, Index z_row,
                                       const std::int32_t* label, float* loss, float* p, Index p_row) {
  HWY_ALIGN float chosen[kLanes], e[kVirtualLanes * kLanes];
  const Group<const float> from(z, z_row, rows);
  for (Index i = 0; i < kLanes; ++i)
    chosen[i] = from.row[static_cast<size_t>(i)][label[std::min(i, rows - 1)]];
  gather(from, classes, e);
  Vector max = set(-kInfinity);
  for (Index j = 0; j < classes; ++j) {
    const Vector v = hn::Load(kFloats, e + j * kLanes);
    max = hn::IfThenElse(hn::Gt(v, max), v, max);
  }
  for (Index j = 0; j < classes; ++j) {
    const Vector v = hn::Load(kFloats, e + j * kLanes);
    hn::Store(exp_of(hn::Sub(v, max)), kFloats, e + j * kLanes);
  }
  // A missing class adds nothing.
  for (Index j = classes; j < kVirtualLanes; ++j) hn::Store(hn::Zero(kFloats), kFloats, e + j * kLanes);
  const Vector total = folded<1>(e, 0);
  for (Index j = 0; j < classes; ++j)
    hn::Store(divide(hn::Load(kFloats, e + j * kLanes), total), kFloats, e + j * kLanes);
  scatter(e, classes, Group<float>(p, p_row, rows));
  store_up_to(hn::Sub(log_of(total), hn::Sub(hn::Load(kFloats, chosen), max)), rows, loss);
}

void cross_entropy(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                   float* loss, float* p, Index p_row) {
  HWY_ALIGN float totals[kLanes], at_label[kLanes];  // the logarithms of kLanes rows at a time
  for (Index begin = 0; begin < rows; begin += kLanes) {
    const Index count = std::min(kLanes, rows - begin);
    if (classes <= kVirtualLanes) {
      cross_entropy_of_group(count, classes, z + begin * z_row, z_row, label + begin, loss + begin,
                             p + begin * p_row, p_row);
      continue;
    }
    hn::Store(set(1), kFloats, totals);
    hn::Store(set(0), kFloats, at_label);
    for (Index i = 0; i < count; ++i) {
      const float* const row = z + (begin + i) * z_row;
      const float chosen = row[label[begin + i]];
      const RowSum sum = softmax_of_row(classes, row, p + (begin + i) * p_row);
      totals[i] = sum.total;
      at_label[i] = chosen - sum.max;
    }
    const Vector losses = hn::Sub(log_of(hn::Load(kFloats, totals)), hn::Load(kFloats, at_label));
    store_up_to(losses, count, loss + begin);
  }
}

void cross_entropy_gradient(Index rows, Index classes, const float* p, Index p_row, const std::int32_t* label,
                            const float* g, Index g_stride, float* dz, Index dz_row) {
  // A vector that reaches into the next row must not be stored while that one is to be read (dz may be p):
  // the CPU would wait. So short rows are kept here meanwhile.
  constexpr Index kRows = 16;
  HWY_ALIGN float short_rows[kRows * kVirtualLanes];
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
