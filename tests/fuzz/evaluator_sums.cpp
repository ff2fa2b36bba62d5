// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>

namespace fuzz {

using namespace wafer;

namespace {

void matmul(Call& call) {
  const auto& op = call.as<Matmul>();
  const Values &a = call.in[0], &b = call.in[1];
  const int rank = a.shape.rank();
  const Index inner = a.shape[op.transpose_a ? rank - 2 : rank - 1];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<Index> index = index_of(call.shape(), i);
    std::vector<Index> of_a = index, of_b = index;
    if (b.shape.rank() == 2) of_b.erase(of_b.begin(), of_b.end() - 2);
    const Index row = index[at(rank - 2)], column = index[at(rank - 1)];
    double sum = 0, terms = 0;
    for (Index k = 0; k < inner; ++k) {
      of_a[at(rank - 2)] = op.transpose_a ? k : row;
      of_a[at(rank - 1)] = op.transpose_a ? row : k;
      of_b[of_b.size() - 2] = op.transpose_b ? column : k;
      of_b[of_b.size() - 1] = op.transpose_b ? k : column;
      const double term = a.at[at(flat_of(a.shape, of_a))] * b.at[at(flat_of(b.shape, of_b))];
      sum += term;
      terms += std::abs(term);
    }
    call.set(i, sum, terms);
  }
}

void row_product(Call& call) {
  const Values &a = call.in[0], &b = call.in[1];
  const Index m = call.shape()[0], n = call.shape()[1];
  const Index rows = m == 0 ? 0 : a.shape.size() / m;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = 0, terms = 0;
      for (Index r = 0; r < rows; ++r) {
        const double term = a.at[at(r * m + i)] * b.at[at(r * n + j)];
        sum += term;
        terms += std::abs(term);
      }
      call.set(i * n + j, sum, terms);
    }
  }
}

void sum_dims(Call& call) {
  const auto& op = call.as<Sum>();
  const Values& x = call.in[0];
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
