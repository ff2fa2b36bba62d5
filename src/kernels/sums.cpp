// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sums.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/lanes-inl.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {
namespace {

using Doubles = hn::ScalableTag<double>;

struct WidenedTerms {
  using D = Doubles;
  static constexpr float kMissing = -0.0F;
  HWY_INLINE hn::Vec<D> operator()(const float* p) const {
    return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), p));
  }
};

/// A square is never −0, so that the +0 of a missing element adds nothing either.
struct SquaredTerms : WidenedTerms {
  HWY_INLINE hn::Vec<D> operator()(const float* p) const {
    const auto x = WidenedTerms::operator()(p);
    return hn::Mul(x, x);
  }
};

float sum_row(Index n, const float* x, float start) { return sum_terms(PlainTerms(), n, x, start); }
double sum_row_f64(Index n, const float* x) { return sum_terms(WidenedTerms(), n, x, 0.0); }
double sum_squares_row_f64(Index n, const float* x) { return sum_terms(SquaredTerms(), n, x, 0.0); }

/// Each lane of a vector sums a row of its own.
template <class Terms>
void sum_adjacent_rows(const Terms& terms, Index rows, Index n, const float* x, Index stride, double* sums) {
  constexpr Index kRows = hn::MaxLanes(Doubles());
  Index i = 0;
  for (; i + kRows <= rows; i += kRows)
    hn::StoreU(sum_terms_of_rows(terms, n, x + i, stride), Doubles(), sums + i);
  for (; i < rows; ++i) sums[i] = sum_terms_of_row(terms, n, x + i, stride);
}

void sum_adjacent_rows_f64(Index rows, Index n, const float* x, Index stride, double* sums) {
  sum_adjacent_rows(WidenedTerms(), rows, n, x, stride, sums);
}
void sum_squares_adjacent_rows_f64(Index rows, Index n, const float* x, Index stride, double* sums) {
  sum_adjacent_rows(SquaredTerms(), rows, n, x, stride, sums);
}

void sum_tail(Index rows, Index count, const float* x, Index row_stride, float* y, bool accumulate) {
  Vector sum = accumulate ? load_first(y, count, 0) : hn::Zero(kFloats);
  for (Index i = 0; i < rows; ++i) sum = hn::Add(sum, load_first(x + i * row_stride, count, 0));
  store_first(sum, count, y);
}

/// Some vectors abreast hide the latency of additions.
template <Index kVectors>
void sum_vectors(Index rows, const float* x, Index row_stride, float* y, bool accumulate) {
  using Sums = Lanes<Floats, kVectors * kLanes>;
  const PlainTerms load;
  Sums sums =
      accumulate ? Sums::from(load, y) : Sums::made_by([](Index) HWY_ATTR { return hn::Zero(kFloats); });
  for (Index i = 0; i < rows; ++i) sums = sums.plus(Sums::from(load, x + i * row_stride));
  sums.for_each([&](Vector v, Index l) HWY_ATTR { hn::StoreU(v, kFloats, y + l); });
}

void sum_rows(Index rows, Index cols, const float* x, Index row_stride, float* y, bool accumulate) {
  Index j = 0;
  for (; j + 4 * kLanes <= cols; j += 4 * kLanes) sum_vectors<4>(rows, x + j, row_stride, y + j, accumulate);
  for (; j + 2 * kLanes <= cols; j += 2 * kLanes) sum_vectors<2>(rows, x + j, row_stride, y + j, accumulate);
  for (; j + kLanes <= cols; j += kLanes) sum_vectors<1>(rows, x + j, row_stride, y + j, accumulate);
  if (j < cols) sum_tail(rows, cols - j, x + j, row_stride, y + j, accumulate);
}

bool is_nan(float x) { return x != x; }

std::int32_t argmax_of(Index n, const float* x) {
  Index best = 0;
  for (Index j = 1; j < n && !is_nan(x[best]); ++j) {
    if (x[j] > x[best] || is_nan(x[j])) best = j;
  }
  return static_cast<std::int32_t>(best);
}

void argmax(Index rows, Index cols, const float* x, Index x_row, std::int32_t* y) {
  for (Index i = 0; i < rows; ++i) y[i] = argmax_of(cols, x + i * x_row);
}

}  // namespace

void fill_sums(Table& table) {
  table.sum_row = sum_row;
  table.sum_row_f64 = sum_row_f64;
  table.sum_squares_row_f64 = sum_squares_row_f64;
  table.sum_adjacent_rows_f64 = sum_adjacent_rows_f64;
  table.sum_squares_adjacent_rows_f64 = sum_squares_adjacent_rows_f64;
  table.sum_rows = sum_rows;
  table.argmax = argmax;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
