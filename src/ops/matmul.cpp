// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/matmul.hpp>
#include <wafer/ops/transpose.hpp>

#include "kernels/table.hpp"
#include "ops/support.hpp"

#include <cmath>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr std::string_view kBatchNames[kMaxRank] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};

void expect_matrices(const Types& in) {
  ops::expect_inputs(in, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    ops::expect_dtype(in, i, DType::f32, "a matrix");
    if (in[i].shape.rank() < 2) throw UserError("expected matrices of rank >= 2, got " + text_of(in));
  }
}

// The last two dimensions of an operand: which is the one that stays, and which is summed over.
struct Sides {
  int kept, summed;
};
Sides sides_of_a(int rank, bool transposed) {
  return transposed ? Sides{rank - 1, rank - 2} : Sides{rank - 2, rank - 1};
}
Sides sides_of_b(int rank, bool transposed) {
  return transposed ? Sides{rank - 2, rank - 1} : Sides{rank - 1, rank - 2};
}

/// A second matrix, or a result, may be in panels.
constexpr std::uint32_t kPanelOperands = 0b110;

using kernels::Product;

// Cᵀ = Bᵀ·Aᵀ, which has the same chains, in C's own memory.
Product transposed(const Product& p) {
  Product t = p;
  t.m = p.n;
  t.n = p.m;
  t.a = p.b;
  t.a_row = p.b_col;
  t.a_col = p.b_row;
  t.b = p.a;
  t.b_row = p.a_col;
  t.b_col = p.a_row;
  t.c_row = p.c_col;
  t.c_col = p.c_row;
  return t;
}

// What a transposed product calls for the tail of the product.
struct TransposedTail {
  const Tail& of;
  Tail tail = of;
  explicit TransposedTail(const Tail& tail_of) : of(tail_of) {
    tail.self = this;
    tail.run = [](void* self, Index row, Index rows, Index col, Index cols) {
      const Tail& of_product = static_cast<TransposedTail*>(self)->of;
      of_product.run(of_product.self, col, cols, row, rows);
    };
    for (std::size_t s = 0; s < tail.stream_count; ++s) std::swap(tail.streams[s].row, tail.streams[s].col);
  }
};

// The kernel wants columns of C adjacent; where its rows are, the transposed product is one. (Rows in panels
// are so also where there is one column.)
void multiply(const Context& context, const Product& p) {
  const auto gemm = kernels::table(context.target).gemm;
  if (p.c_col.next == 1 || (p.n == 1 && p.c_row.plain())) return gemm(p);
  if (p.c_row.next == 1 || p.m == 1) {
    Product t = transposed(p);
    if (p.tail == nullptr) return gemm(t);
    TransposedTail tail(*p.tail);
    t.tail = &tail.tail;
    return gemm(t);
  }
  Product column = p;
  column.n = 1;
  column.tail = nullptr;
  for (Index j = 0; j < p.n; ++j) {
    column.b = p.b + p.b_col.at(j);
    column.c = p.c + p.c_col.at(j);
    gemm(column);
  }
  if (p.tail != nullptr && p.m > 0 && p.n > 0) p.tail->run(p.tail->self, 0, p.m, 0, p.n);
}

// The same, plainly.
void multiply_plainly(const Context& context, const Product& p) {
  const bool fused = kernels::fuses(context.target);
  for (Index i = 0; i < p.m; ++i) {
    for (Index j = 0; j < p.n; ++j) {
      float& c = p.c[p.c_row.at(i) + p.c_col.at(j)];
      float sum = p.accumulate ? c : 0;
      for (Index l = 0; l < p.k; ++l) {
        const float a = p.a[p.a_row.at(i) + p.a_col.at(l)], b = p.b[p.b_row.at(l) + p.b_col.at(j)];
        sum = fused ? std::fma(a, b, sum) : sum + a * b;
      }
      c = sum;
    }
  }
}

using Multiply = decltype(multiply);

void run_matmul(const Matmul& op, const Context& context, Tiles in, Tiles out, Multiply& product_of) {
  const Tile &a = in[0], &b = in[1], &c = out[0];
  const Sides sides_a = sides_of_a(a.rank, op.transpose_a), sides_b = sides_of_b(b.rank, op.transpose_b);
  const std::size_t row = ops::at(c.rank - 2), col = ops::at(c.rank - 1);
  Product product;
  product.m = c.extent[row];
  product.n = c.extent[col];
  product.k = a.extent[ops::at(sides_a.summed)];
  product.a_row = a.stride_of(sides_a.kept);
  product.a_col = a.stride_of(sides_a.summed);
  product.b_row = b.stride_of(sides_b.summed);
  product.b_col = b.stride_of(sides_b.kept);
  product.c_row = c.stride_of(c.rank - 2);
  product.c_col = c.stride_of(c.rank - 1);
  product.accumulate = context.accumulate;
  product.scratch = static_cast<float*>(context.scratch);
  product.tail = context.tail;
  // A matrix that serves all: leading dimensions that continue A's and C's rows are further rows.
  int batch = c.rank - 2;
  for (; b.rank == 2 && batch > 0; --batch) {
    const std::size_t d = ops::at(batch - 1);
    if (a.stride[d] != product.a_row.next * product.m || c.stride[d] != product.c_row.next * product.m) break;
    product.m *= c.extent[d];
  }
  for_each_index(batch, c.extent, [&](const std::array<Index, kMaxRank>& index) {
    product.a = a.as<float>();
    product.b = b.as<float>();
    product.c = c.as<float>();
    for (int d = 0; d < batch; ++d) {
      product.a += index[ops::at(d)] * a.stride[ops::at(d)];
      product.b += b.rank == 2 ? 0 : index[ops::at(d)] * b.stride[ops::at(d)];
      product.c += index[ops::at(d)] * c.stride[ops::at(d)];
    }
    product_of(context, product);
  });
}

void run_row_product(const Context& context, Tiles in, Tiles out, Multiply& product_of) {
  const Tile &a = in[0], &b = in[1], &c = out[0];
  const std::size_t last = ops::at(a.rank - 1);
  Product product;
  product.m = c.extent[0];
  product.n = c.extent[1];
  product.k = 1;
  product.a_row = a.stride[last];
  product.b_col = b.stride_of(a.rank - 1);
  product.c = c.as<float>();
  product.c_row = c.stride_of(0);
  product.c_col = c.stride_of(1);
  product.accumulate = context.accumulate;
  product.scratch = static_cast<float*>(context.scratch);
  // Rows that follow each other at one distance are one call.
  int outer = a.rank - 1;
  for (; outer > 0; --outer) {
    const std::size_t d = ops::at(outer - 1);
    if (product.k != 1 &&
        (a.stride[d] != product.a_col.next * product.k || b.stride[d] != product.b_row.next * product.k))
      break;
    if (product.k == 1) {
      product.a_col = a.stride[d];
      product.b_row = b.stride_of(outer - 1);
    }
    product.k *= a.extent[d];
  }
  Index calls = 1;
  for (int d = 0; d < outer; ++d) calls *= a.extent[ops::at(d)];
  if (calls == 0) {  // no rows at all
    product.k = 0;
    outer = 0;
  }
  Index call = 0;
  for_each_index(outer, a.extent, [&](const std::array<Index, kMaxRank>& index) {
    product.a = a.as<float>();
    product.b = b.as<float>();
    for (int d = 0; d < outer; ++d) {
      product.a += index[ops::at(d)] * a.stride[ops::at(d)];
      product.b += index[ops::at(d)] * b.stride[ops::at(d)];
    }
    if (++call >= calls) product.tail = context.tail;  // the sums are complete
    product_of(context, product);
    product.accumulate = true;
  });
}

}  // namespace

Types Matmul::infer(const Types& in) const {
  expect_matrices(in);
  const Shape &a = in[0].shape, &b = in[1].shape;
  const Sides sides_a = sides_of_a(a.rank(), transpose_a), sides_b = sides_of_b(b.rank(), transpose_b);
  bool leading = b.rank() == 2 || b.rank() == a.rank();
  for (int d = 0; leading && b.rank() > 2 && d < a.rank() - 2; ++d) leading = a[d] == b[d];
  if (!leading) {
    throw UserError("expected equal leading dimensions, or a second matrix of rank 2, got " + text_of(in));
  }
  if (a[sides_a.summed] != b[sides_b.summed]) {
    throw UserError("expected dimension " + std::to_string(sides_a.summed) + " of the first and dimension " +
                    std::to_string(sides_b.summed) + " of the second matrix to be equal, got " +
                    std::to_string(a[sides_a.summed]) + " and " + std::to_string(b[sides_b.summed]) + " in " +
                    text_of(in));
  }
  return {{DType::f32, a.with(a.rank() - 2, a[sides_a.kept]).with(a.rank() - 1, b[sides_b.kept])}};
}

AxesRule Matmul::axes(const Types& in) const {
  const Shape &a = in[0].shape, &b = in[1].shape;
  const Sides sides_a = sides_of_a(a.rank(), transpose_a), sides_b = sides_of_b(b.rank(), transpose_b);
  AxesRule rule;
  AxesRule::Dims batch;
  for (int d = 0; d < a.rank() - 2; ++d) batch.push_back({rule.parallel(kBatchNames[d], a[d])});
  const AxesRule::Dim m{rule.parallel("m", a[sides_a.kept])};
  const AxesRule::Dim n{rule.parallel("n", b[sides_b.kept])};
  const AxesRule::Dim k{rule.reduced("k", a[sides_a.summed])};
  const auto with = [&](bool has_batch, const AxesRule::Dim& row, const AxesRule::Dim& col) {
    AxesRule::Dims dims = has_batch ? batch : AxesRule::Dims{};
    dims.push_back(row);
    dims.push_back(col);
    return dims;
  };
  rule.operand(transpose_a ? with(true, k, m) : with(true, m, k));
  rule.operand(transpose_b ? with(b.rank() > 2, n, k) : with(b.rank() > 2, k, n));
  rule.result(with(true, m, n));
  return rule;
}

void Matmul::run(const Context& context, Tiles in, Tiles out) const {
  run_matmul(*this, context, in, out, multiply_plainly);
}

Gradients Matmul::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  const Tensor &a = in[0], &b = in[1], &g = cotangents[0];
  const auto product = [](bool transposed_x, const Tensor& x, bool transposed_y, const Tensor& y) {
    return apply(Matmul{transposed_x, transposed_y}, {x, y}).at(0);
  };
  const bool serves_all = b.rank() == 2 && a.rank() > 2;
  Tensor da, db;
  if (!transpose_a) {
    da = product(false, g, !transpose_b, b);
  } else if (serves_all) {
    da = transpose(product(false, g, !transpose_b, b));
  } else {
    da = product(transpose_b, b, true, g);
  }
  if (serves_all) {
    const Tensor rows = transpose_a ? transpose(a) : a;
    db = transpose_b ? apply(RowProduct{}, {g, rows}).at(0) : apply(RowProduct{}, {rows, g}).at(0);
  } else {
    db = transpose_b ? product(true, g, transpose_a, a) : product(!transpose_a, a, false, g);
  }
  return {da, db};
}

Kernels Matmul::kernels(const Types& in) const {
  const bool runs_tail = in[0].shape.rank() == 2;  // else rows of several matrices are joined
  return {{[](const void* op, const Context& context, Tiles x, Tiles y) {
             run_matmul(ops::op_of<Matmul>(op), context, x, y, multiply);
           },
           kernels::kGemmScratchBytes, runs_tail, kPanelOperands}};
}

Types RowProduct::infer(const Types& in) const {
  expect_matrices(in);
  const Shape &a = in[0].shape, &b = in[1].shape;
  const Index m = a[a.rank() - 1], n = b[b.rank() - 1];
  if (a.rank() != b.rank() || a.with(a.rank() - 1, n) != b) {
    throw UserError("expected two tensors that differ in the last dimension alone, got " + text_of(in));
  }
  return {{DType::f32, Shape{m, n}}};
}

AxesRule RowProduct::axes(const Types& in) const {
  const Shape& a = in[0].shape;
  const int last = a.rank() - 1;
  AxesRule rule;
  AxesRule::Dims rows;
  for (int d = 0; d < last; ++d) {
    rows.push_back({d == 0 ? rule.reduced(kBatchNames[d], a[d]) : rule.whole(kBatchNames[d], a[d])});
  }
  const AxesRule::Dim m{rule.parallel("m", a[last])};
  const AxesRule::Dim n{rule.parallel("n", in[1].shape[last])};
  for (const AxesRule::Dim& dim : {m, n}) {
    AxesRule::Dims dims = rows;
    dims.push_back(dim);
    rule.operand(dims);
  }
  rule.result({m, n});
  return rule;
}

void RowProduct::run(const Context& context, Tiles in, Tiles out) const {
  run_row_product(context, in, out, multiply_plainly);
}

Gradients RowProduct::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {apply(Matmul{false, true}, {in[1], cotangents[0]}).at(0), matmul(in[0], cotangents[0])};
}

Kernels RowProduct::kernels(const Types&) const {
  return {{[](const void*, const Context& context, Tiles in, Tiles out) {
             run_row_product(context, in, out, multiply);
           },
           kernels::kGemmScratchBytes, true, kPanelOperands}};
}

Tensor matmul(Tensor a, Tensor b) { return apply(Matmul{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
