// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>

namespace fuzz {

using namespace wafer;

namespace {

// Σ of the products of two runs of numbers, each with a stride: one chain of fused multiply-adds.
struct Run {
  const double* from;
  Index stride;
};
Point dot(Run a, Run b, Index terms) {
  Point out{0, 0};
  for (Index k = 0; k < terms; ++k) {
    const double term = a.from[k * a.stride] * b.from[k * b.stride];
    out.value += term;
    out.terms += std::abs(term);
  }
  return out;
}

void matmul(Call& call) {
  const auto& op = call.as<Matmul>();
  const Values &a = call.in[0], &b = call.in[1];
  const int rank = a.shape.rank();
  const Index m = call.shape()[rank - 2], n = call.shape()[rank - 1];
  const Index inner = a.shape[op.transpose_a ? rank - 2 : rank - 1];
  call.out[0].roundings = inner;
  for (Index i = 0; i < call.shape().size(); ++i) {
    const Index matrix = i / (m * n), row = i / n % m, column = i % n;
    const double* const of_a = a.at.data() + matrix * m * inner;
    const double* const of_b = b.at.data() + (b.shape.rank() == 2 ? 0 : matrix * inner * n);
    const Run left = op.transpose_a ? Run{of_a + row, m} : Run{of_a + row * inner, 1};
    const Run right = op.transpose_b ? Run{of_b + column * inner, 1} : Run{of_b + column, n};
    const Point p = dot(left, right, inner);
    call.set(i, p.value, p.terms);
  }
}

void row_product(Call& call) {
  const Values &a = call.in[0], &b = call.in[1];
  const Index m = call.shape()[0], n = call.shape()[1];
  const Index rows = m == 0 ? 0 : a.shape.size() / m;
  call.out[0].roundings = rows;
  for (Index i = 0; i < m * n; ++i) {
    const Point p = dot({a.at.data() + i / n, m}, {b.at.data() + i % n, n}, rows);
    call.set(i, p.value, p.terms);
  }
}

// Over the last dimension, 16 lanes in chunks of 64: a term passes 3 sums in its lane, 4 that fold the lanes,
// and one for each chunk. Over others, one chain.
Index roundings_of(const Sum& op, const Shape& shape) {
  Index terms = 1;
  for (Index d : op.dims) terms *= shape[static_cast<int>(d)];
  const bool last = op.dims[0] == shape.rank() - 1;
  return last ? 3 + 4 + (terms + 63) / 64 : terms;
}

void sum_dims(Call& call) {
  const auto& op = call.as<Sum>();
  const Values& x = call.in[0];
  call.out[0].roundings = roundings_of(op, x.shape);
  for (Index i = 0; i < x.shape.size(); ++i) {
    const std::vector<Index> index = index_of(x.shape, i);
    std::vector<Index> to;
    for (int d = 0; d < x.shape.rank(); ++d) {
      const bool summed = std::find(op.dims.begin(), op.dims.end(), Index{d}) != op.dims.end();
      if (!summed) to.push_back(index[at(d)]);
      if (summed && op.keep) to.push_back(0);
    }
    const std::size_t result = at(flat_of(call.shape(), to));
    call.out[0].value[result] += x.at[at(i)];
    call.out[0].terms[result] += std::abs(x.at[at(i)]);
  }
}

template <class F>
void sum_whole(Call& call, F f) {
  double sum = 0, terms = 0;
  for (double x : call.in[0].at) {
    sum += f(x);
    terms += std::abs(f(x));
  }
  call.set(0, sum, terms);
}

}  // namespace

Evaluations sum_evaluations() {
  return {
      {Matmul::name, matmul},
      {RowProduct::name, row_product},
      {Sum::name, sum_dims},
      {SumAll::name, [](Call& c) { sum_whole(c, [](double x) { return x; }); }},
      {SumSquares::name, [](Call& c) { sum_whole(c, [](double x) { return x * x; }); }},
  };
}

}  // namespace fuzz
