// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/core/target.hpp>
#include <wafer/core/tile.hpp>

#include <array>
#include <cstdint>
#include <limits>

/// The hot kernels: functions of pointers, strides and extents, compiled once per instruction set and
/// collected in one table each. Strides are in elements. An element's bits depend neither on its position,
/// nor on how a range is cut into calls, nor on the target beyond what fuses() says. No kernel allocates or
/// throws.
namespace wafer::inline v0::kernels {

/// Bytes that `gemm` needs as scratch, 64-byte aligned.
inline constexpr Index kGemmScratchBytes = 432 * 1024;

/// C[m,n] = A[m,k] · B[k,n], or C += A · B when `accumulate`. A and B have any strides (a transpose is a swap
/// of strides, a broadcast the stride 0); columns of C are adjacent. Rows or columns of B, or columns of C,
/// may be in panels.
struct Product {
  Index m = 0, n = 0, k = 0;
  const float *a = nullptr, *b = nullptr;
  Stride a_row, a_col, b_row, b_col;
  float* c = nullptr;
  Stride c_row, c_col;
  bool accumulate = false;
  float* scratch = nullptr;    ///< kGemmScratchBytes
  const Tail* tail = nullptr;  ///< called for pieces that make up C, each within a panel, unless C is empty
};

/// Each element is one chain of fused multiply-adds (a product and a sum on targets without them), ascending
/// in k, from +0 or from the C that is there; so cutting k into successive accumulating calls changes no bit.
/// k = 0 is a product of nothing: zeros.
using Gemm = void(const Product& product);

/// y[i,j] = f(x[i,j]), columns adjacent; y may be x.
using Unary = void(Index rows, Index cols, const float* x, Index x_row, float* y, Index y_row);

/// An input of `Binary`: strides 0 where it is broadcast, and that of its columns is 0 or 1.
struct Operand {
  const float* data = nullptr;
  Index row = 0, col = 1;
};

/// y[i,j] = f(a[i,j], b[i,j]), columns of y adjacent; y may be a or b, where that is not broadcast.
using Binary = void(Index rows, Index cols, const Operand& a, const Operand& b, float* y, Index y_row);

/// y[i] = a[i] ? b[i] of booleans, one byte each; strides are 0 or 1.
using Compare = void(Index n, const float* a, Index a_stride, const float* b, Index b_stride, bool* y);

/// y[i] = c[i] ? a[i] : b[i]; strides are 0 or 1; y may be a or b.
using Where = void(Index n, const bool* c, Index c_stride, const float* a, Index a_stride, const float* b,
                   Index b_stride, float* y);

/// start + Σ x in the order of sums over a last axis. The axis is cut into chunks of 64 at multiples of 64; x
/// is the start of a chunk. In a chunk, lane l of 16 adds the elements l, l+16, l+32, l+48 from left to
/// right; the lanes are then folded by halves (l += l+8, then l+4, l+2, l+1); the totals of the chunks are
/// added to `start` from left to right. A missing element counts as −0, which adds nothing.
using SumRow = float(Index n, const float* x, float start);

/// The same order in f64, from +0, over elements widened (and then squared, which is exact) beforehand.
using SumRowF64 = double(Index n, const float* x);

/// sums[i] = the sum of row i in that order, for rows that lie side by side: x[i + j·stride], j in [0, n).
using SumAdjacentRowsF64 = void(Index rows, Index n, const float* x, Index stride, double* sums);

/// y[j] = Σ_i x[i,j], one chain ascending in i, from +0 or from the y that is there when `accumulate`.
using SumRows = void(Index rows, Index cols, const float* x, Index row_stride, float* y, bool accumulate);

/// loss[i] = log Σ_j exp(z[i,j] − max) − (z[i,label[i]] − max), the sum in the order of SumRow, and
/// p[i,j] = exp(z[i,j] − max) / Σ_j exp(z[i,j] − max). Labels are in [0, classes); p may be z.
using CrossEntropy = void(Index rows, Index classes, const float* z, Index z_row, const std::int32_t* label,
                          float* loss, float* p, Index p_row);

/// dz[i,j] = (p[i,j] − (j == label[i])) · g[i]; g_stride is 0 or 1; dz may be p.
using CrossEntropyGradient = void(Index rows, Index classes, const float* p, Index p_row,
                                  const std::int32_t* label, const float* g, Index g_stride, float* dz,
                                  Index dz_row);

/// y[i] = index of the first greatest of row i; a NaN counts as greatest.
using Argmax = void(Index rows, Index cols, const float* x, Index x_row, std::int32_t* y);

/// Moments below this, which are denormal, are kept as 0.
inline constexpr float kLeastNormal = std::numeric_limits<float>::min();

struct SgdScalars {
  float learning_rate = 0;
  float momentum = 0;
  float weight_decay = 0;
  float scale = 1;  ///< multiplies the gradient first (1 / loss scale, clipping)
  bool nesterov = false;
};

/// A matrix whose columns are adjacent.
struct Rows {
  float* data = nullptr;
  Index row = 0;
};
struct ConstRows {
  const float* data = nullptr;
  Index row = 0;
};

/// d = g·scale + weight_decay·p;  m = momentum·m + d;  p −= learning_rate · (nesterov ? d + momentum·m : m).
/// m is null where there is no momentum: then p −= learning_rate · d.
using SgdUpdate = void(Index rows, Index cols, Rows p, Rows m, ConstRows g, const SgdScalars& scalars);

struct AdamwScalars {
  float decay = 1;  ///< 1 − learning rate · weight decay
  float beta1 = 0;
  float beta2 = 0;
  float one_minus_beta1 = 1;  ///< rounded once from the exact difference, hence beside beta1
  float one_minus_beta2 = 1;
  float epsilon = 0;
  float step_size = 0;   ///< learning rate / (1 − beta1^t)
  float sqrt_bias2 = 1;  ///< √(1 − beta2^t)
  float scale = 1;       ///< multiplies the gradient first
};

/// d = g·scale;  m = beta1·m + (1−beta1)·d;  v = beta2·v + (1−beta2)·d²;
/// p = p·decay − step_size·m / (√v / sqrt_bias2 + epsilon). Square root and divisions are exact.
using AdamwUpdate = void(Index rows, Index cols, Rows p, Rows m, Rows v, ConstRows g,
                         const AdamwScalars& scalars);

/// The kernels of one instruction set.
struct Table {
  Gemm* gemm;

  Unary* neg;
  Unary* sqrt;
  Unary* exp;
  Unary* log;
  Unary* cos;
  Unary* square;
  Unary* relu;  ///< NaN stays NaN
  Unary* gelu;  ///< x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))
  Unary* sigmoid;
  Unary* tanh;

  Binary* add;
  Binary* sub;
  Binary* mul;
  Binary* div;
  Binary* min;  ///< NaN if either is
  Binary* max;  ///< NaN if either is
  Binary* pow;
  Binary* relu_gradient;  ///< a = x, b = dy: x > 0 ? dy : 0
  Binary* gelu_gradient;  ///< a = x, b = dy: gelu'(x) · dy
  Compare* less;
  Where* where;

  SumRow* sum_row;
  SumRowF64* sum_row_f64;
  SumRowF64* sum_squares_row_f64;
  SumAdjacentRowsF64* sum_adjacent_rows_f64;
  SumAdjacentRowsF64* sum_squares_adjacent_rows_f64;
  SumRows* sum_rows;
  Argmax* argmax;

  CrossEntropy* cross_entropy;
  CrossEntropyGradient* cross_entropy_gradient;

  SgdUpdate* sgd_update;
  AdamwUpdate* adamw_update;
};

/// All targets of this family of CPUs.
#if defined(__aarch64__)
inline constexpr std::array kTargets = {KernelTarget::portable, KernelTarget::neon};
#else
inline constexpr std::array kTargets = {KernelTarget::portable, KernelTarget::sse4, KernelTarget::avx2,
                                        KernelTarget::avx512};
#endif

/// Whether this CPU and its operating system can run the kernels of a target.
bool supports(KernelTarget target);

/// Whether the kernels of a target fuse a product with the sum that it goes into. Targets that are alike in
/// this give the same bits.
bool fuses(KernelTarget target);

/// The best target that this CPU supports.
KernelTarget best_target();

/// The kernels of a target, `automatic` being the best one. Throws UserError where the CPU lacks it.
const Table& table(KernelTarget target = KernelTarget::automatic);

}  // namespace wafer::inline v0::kernels
