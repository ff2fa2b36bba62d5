// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>

namespace fuzz {

using namespace wafer;

namespace {

// The row's first greatest element, and whether another is close to it.
struct Greatest {
  Index index = 0;
  bool near = false;
};
Greatest greatest(const Values& x, Index row, Index classes) {
  const double* const of = x.at.data() + row * classes;
  Greatest best;
  for (Index c = 1; c < classes; ++c) {
    if (of[c] > of[best.index]) best.index = c;
  }
  for (Index c = 0; c < classes; ++c) {
    best.near = best.near || (c != best.index && of[best.index] - of[c] < kNear);
  }
  return best;
}

void arg_max(Call& call) {
  const Index classes = call.in[0].shape[call.in[0].shape.rank() - 1];
  for (Index row = 0; row < call.shape().size(); ++row) {
    const Greatest best = greatest(call.in[0], row, classes);
    const auto value = static_cast<double>(best.index);
    call.set(row, value, value, best.near);
  }
}

void correct(Call& call) {
  const Index classes = call.in[0].shape[call.in[0].shape.rank() - 1];
  double count = 0;
  bool near = false;
  for (Index row = 0; row < call.in[1].shape.size(); ++row) {
    const Greatest best = greatest(call.in[0], row, classes);
    near = near || best.near;
    count += static_cast<double>(best.index) == call.in[1].at[at(row)] ? 1 : 0;
  }
  call.set(0, count, count, near);
}

// Σ e^(z − max) of a row, and its greatest element.
struct Softmax {
  double most = 0, total = 0;
};
Softmax softmax(const Values& x, Index row, Index classes) {
  const double* const of = x.at.data() + row * classes;
  Softmax s{*std::max_element(of, of + classes), 0};
  for (Index c = 0; c < classes; ++c) s.total += std::exp(of[c] - s.most);
  return s;
}

void cross_entropy_rows(Call& call) {
  const Index classes = call.in[0].shape[call.in[0].shape.rank() - 1];
  for (Index row = 0; row < call.shape().size(); ++row) {
    const Softmax s = softmax(call.in[0], row, classes);
    const double z = call.in[0].at[at(row * classes + static_cast<Index>(call.in[1].at[at(row)]))] - s.most;
    // Near 1, the logarithm passes on the rounding of the sum of exponentials: (Σ of them) / Σ = 1.
    call.set(row, std::log(s.total) - z, 1 + std::log(s.total) + std::abs(z));
    for (Index c = 0; c < classes; ++c) {
      const Index i = row * classes + c;
      const double share = std::exp(call.in[0].at[at(i)] - s.most) / s.total;
      call.set(i, share, share, false, 1);
    }
  }
}

void cross_entropy_slopes(Call& call) {
  const Index classes = call.in[0].shape[call.in[0].shape.rank() - 1];
  for (Index row = 0; row < call.in[1].shape.size(); ++row) {
    for (Index c = 0; c < classes; ++c) {
      const Index i = row * classes + c;
      const double share = call.in[0].at[at(i)];
      const double hot = static_cast<double>(c) == call.in[1].at[at(row)] ? 1 : 0;
      const double g = call.in[2].at[at(row)];
      call.set(i, (share - hot) * g, (std::abs(share) + hot) * std::abs(g));
    }
  }
}

}  // namespace

Evaluations class_evaluations() {
  return {
      {Argmax::name, arg_max},
      {CountCorrect::name, correct},
      {SoftmaxCrossEntropy::name, cross_entropy_rows},
      {SoftmaxCrossEntropyGradient::name, cross_entropy_slopes},
  };
}

}  // namespace fuzz
