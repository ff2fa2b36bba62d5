// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/highway.hpp"
#include "kernels/math64.hpp"
#include "kernels/table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "kernels/math-inl.hpp"
#include "kernels/vectors-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace wafer::inline v0::kernels::HWY_NAMESPACE {
namespace {

// A function of vectors is a template argument of the loop over a range, and so inlined in it. The tail of a
// range passes through the same vector code; its unused lanes hold 1, which raises no floating-point
// exception.

HWY_INLINE Vector neg_of(Vector x) { return hn::Neg(x); }
HWY_INLINE Vector sqrt_of(Vector x) { return hn::Sqrt(x); }
HWY_INLINE Vector square_of(Vector x) { return hn::Mul(x, x); }

/// NaN is not <= 0, and stays.
HWY_INLINE Vector relu_of(Vector x) {
  const Vector zero = hn::Zero(kFloats);
  return hn::IfThenElse(hn::Le(x, zero), zero, x);
}

/// Highway's cosine is made for |x| <= 39000; the few lanes beyond are computed in f64.
WAFER_KERNELS_FUNCTION Vector cos_of(Vector x) {
  const Mask ordinary = hn::Le(hn::Abs(x), set(39000));
  const Vector y = hn::Cos(kFloats, hn::IfThenElseZero(ordinary, x));
  if (HWY_LIKELY(hn::AllTrue(kFloats, ordinary))) return y;
  HWY_ALIGN float lanes[kLanes];
  hn::Store(x, kFloats, lanes);
  for (float& lane : lanes) lane = static_cast<float>(cos64(static_cast<double>(lane)));
  return hn::IfThenElse(ordinary, y, hn::Load(kFloats, lanes));
}

HWY_INLINE Vector add_of(Vector a, Vector b) { return hn::Add(a, b); }
HWY_INLINE Vector sub_of(Vector a, Vector b) { return hn::Sub(a, b); }
HWY_INLINE Vector mul_of(Vector a, Vector b) { return hn::Mul(a, b); }
HWY_INLINE Vector div_of(Vector a, Vector b) { return divide(a, b); }
HWY_INLINE Vector min_of(Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
}
HWY_INLINE Vector max_of(Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
}
HWY_INLINE Vector relu_gradient_of(Vector x, Vector dy) {
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(kFloats)), dy);
}
HWY_INLINE Vector gelu_gradient_of(Vector x, Vector dy) { return hn::Mul(gelu_slope_of(x), dy); }

template <Vector (*kFunction)(Vector)>
void unary(Index rows, Index cols, const float* x, Index x_row, float* y, Index y_row) {
  for (Index i = 0; i < rows; ++i, x += x_row, y += y_row) {
    Index j = 0;
    for (; j + kLanes <= cols; j += kLanes) hn::StoreU(kFunction(hn::LoadU(kFloats, x + j)), kFloats, y + j);
    if (j < cols) store_first(kFunction(load_first(x + j, cols - j, 1)), cols - j, y + j);
  }
}

/// A row of an operand: adjacent elements, or one for all.
struct Row {
  const float* data;
  bool splat;
  Vector value;  // of a splat; read before anything is written

  HWY_INLINE Row(const float* p, Index stride) : data(p), splat(stride == 0), value(set(*p)) {}
  HWY_INLINE Vector at(Index j) const { return splat ? value : hn::LoadU(kFloats, data + j); }
  HWY_INLINE Vector first_at(Index j, Index count) const {
    return splat ? value : load_first(data + j, count, 1);
  }
};

// Rows shorter than a vector are loaded some at a time before any of them is stored: a vector that reaches
// into the next row, which y may share with an operand, would have to wait for the store.
constexpr Index kShortRows = 16;

/// The rows of an operand that are shorter than a vector; one row for all is read once.
struct ShortRows {
  Operand operand;
  Index cols;
  Vector row0;

  HWY_INLINE ShortRows(const Operand& of, Index of_cols) : operand(of), cols(of_cols), row0(load(0)) {}
  HWY_INLINE Vector load(Index i) const {
    const float* const p = operand.data + i * operand.row;
    return operand.col == 0 ? set(*p) : load_first(p, cols, 1);
  }
  HWY_INLINE Vector at(Index i) const { return operand.row == 0 ? row0 : load(i); }
};

template <Vector (*kFunction)(Vector, Vector)>
void binary_of_short_rows(Index rows, Index cols, const Operand& a, const Operand& b, float* y, Index y_row) {
  const ShortRows left(a, cols), right(b, cols);
  HWY_ALIGN float results[kShortRows * kLanes];
  for (Index begin = 0; begin < rows; begin += kShortRows) {
    const Index count = std::min(kShortRows, rows - begin);
    for (Index i = 0; i < count; ++i)
      hn::Store(kFunction(left.at(begin + i), right.at(begin + i)), kFloats, results + i * kLanes);
    for (Index i = 0; i < count; ++i)
      store_first(hn::Load(kFloats, results + i * kLanes), cols, y + (begin + i) * y_row);
  }
}

template <Vector (*kFunction)(Vector, Vector)>
void binary(Index rows, Index cols, const Operand& a, const Operand& b, float* y, Index y_row) {
  if (cols == 0) return;
  const Operand a_of = a, b_of = b;  // copies that no store can alias
  if (cols < kLanes && rows > 1) return binary_of_short_rows<kFunction>(rows, cols, a_of, b_of, y, y_row);
  for (Index i = 0; i < rows; ++i, y += y_row) {
    const Row left(a_of.data + i * a_of.row, a_of.col);
    const Row right(b_of.data + i * b_of.row, b_of.col);
    Index j = 0;
    for (; j + kLanes <= cols; j += kLanes) hn::StoreU(kFunction(left.at(j), right.at(j)), kFloats, y + j);
    const Index rest = cols - j;
    if (rest > 0) store_first(kFunction(left.first_at(j, rest), right.first_at(j, rest)), rest, y + j);
  }
}

/// Element by element in f64, which has no fused multiply-add: the same bits on every target.
void pow_each(Index rows, Index cols, const Operand& a, const Operand& b, float* y, Index y_row) {
  if (cols == 0) return;
  for (Index i = 0; i < rows; ++i) {
    const float* const left = a.data + i * a.row;
    const float* const right = b.data + i * b.row;
    const float a0 = *left, b0 = *right;  // of one for all, read before anything is written
    for (Index j = 0; j < cols; ++j) {
      const double base = a.col == 0 ? a0 : left[j];
      const double exponent = b.col == 0 ? b0 : right[j];
      y[i * y_row + j] = static_cast<float>(pow64(base, exponent));
    }
  }
}

// Booleans are bytes of 0 or 1, as many as a vector has lanes.
using Ints = hn::ScalableTag<std::int32_t>;
using Bytes = hn::Rebind<std::uint8_t, Ints>;

HWY_INLINE Mask mask_at(const bool* p, Index count) {
  std::uint8_t bytes[kLanes] = {};
  std::memcpy(bytes, p, static_cast<size_t>(count));
  const auto ints = hn::PromoteTo(Ints(), hn::LoadU(Bytes(), bytes));
  return hn::RebindMask(kFloats, hn::Gt(ints, hn::Zero(Ints())));
}

HWY_INLINE void store_mask(Mask mask, bool* p, Index count) {
  const auto bits = hn::BitCast(hn::RebindToUnsigned<Floats>(), hn::VecFromMask(kFloats, mask));
  const auto ints = hn::BitCast(Ints(), hn::ShiftRight<31>(bits));
  std::uint8_t bytes[kLanes];
  hn::StoreU(hn::DemoteTo(Bytes(), ints), Bytes(), bytes);
  std::memcpy(p, bytes, static_cast<size_t>(count));
}

void less(Index n, const float* a, Index a_stride, const float* b, Index b_stride, bool* y) {
  if (n == 0) return;
  const Row left(a, a_stride);
  const Row right(b, b_stride);
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) store_mask(hn::Lt(left.at(i), right.at(i)), y + i, kLanes);
  const Index rest = n - i;
  if (rest > 0) store_mask(hn::Lt(left.first_at(i, rest), right.first_at(i, rest)), y + i, rest);
}

void where(Index n, const bool* c, Index c_stride, const float* a, Index a_stride, const float* b,
           Index b_stride, float* y) {
  if (n == 0) return;
  const Row left(a, a_stride);
  const Row right(b, b_stride);
  const Mask all = hn::FirstN(kFloats, *c ? static_cast<size_t>(kLanes) : 0);
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Mask chosen = c_stride == 0 ? all : mask_at(c + i, kLanes);
    hn::StoreU(hn::IfThenElse(chosen, left.at(i), right.at(i)), kFloats, y + i);
  }
  const Index rest = n - i;
  if (rest > 0) {
    const Mask chosen = c_stride == 0 ? all : mask_at(c + i, rest);
    store_first(hn::IfThenElse(chosen, left.first_at(i, rest), right.first_at(i, rest)), rest, y + i);
  }
}

}  // namespace

void fill_elementwise(Table& table) {
  table.neg = unary<neg_of>;
  table.sqrt = unary<sqrt_of>;
  table.exp = unary<exp_of>;
  table.log = unary<log_of>;
  table.cos = unary<cos_of>;
  table.square = unary<square_of>;
  table.relu = unary<relu_of>;
  table.gelu = unary<gelu_of>;
  table.sigmoid = unary<sigmoid_of>;
  table.tanh = unary<tanh_of>;

  table.add = binary<add_of>;
  table.sub = binary<sub_of>;
  table.mul = binary<mul_of>;
  table.div = binary<div_of>;
  table.min = binary<min_of>;
  table.max = binary<max_of>;
  table.pow = pow_each;
  table.relu_gradient = binary<relu_gradient_of>;
  table.gelu_gradient = binary<gelu_gradient_of>;
  table.less = less;
  table.where = where;
}

}  // namespace wafer::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
