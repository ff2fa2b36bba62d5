// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evaluator.hpp"

#include <cmath>
#include <map>
#include <string_view>

namespace fuzz {

inline constexpr double kNear = 1e-3;

inline std::size_t at(wafer::Index i) { return static_cast<std::size_t>(i); }

/// Everything that an evaluation reads and writes.
struct Call {
  const wafer::OpHandle& op;
  const std::vector<Values>& in;
  const wafer::Types& types;
  const RunTime& run_time;
  std::vector<Expected> out;

  template <class T>
  const T& as() const {
    return *static_cast<const T*>(op.get());
  }
  const wafer::Shape& shape(std::size_t result = 0) const { return types[result].shape; }
  void set(wafer::Index i, double value, double terms, bool near = false, std::size_t result = 0) {
    out[result].value[at(i)] = value;
    out[result].terms[at(i)] = terms;
    out[result].near[at(i)] = near;
  }
};

inline std::vector<wafer::Index> index_of(const wafer::Shape& shape, wafer::Index flat) {
  std::vector<wafer::Index> index(at(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[at(d)] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

inline wafer::Index flat_of(const wafer::Shape& shape, const std::vector<wafer::Index>& index) {
  wafer::Index flat = 0;
  for (int d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + index[at(d)];
  return flat;
}

/// The element of an operand that broadcasting puts at an index of the result.
inline double broadcast_at(const Values& v, const std::vector<wafer::Index>& index) {
  const auto missing = static_cast<wafer::Index>(index.size()) - v.shape.rank();
  wafer::Index flat = 0;
  for (int d = 0; d < v.shape.rank(); ++d)
    flat = flat * v.shape[d] + (v.shape[d] == 1 ? 0 : index[at(d + missing)]);
  return v.at[at(flat)];
}

struct Point {
  double value, terms;
  bool near = false;
};

template <class F>
void unary(Call& call, F f) {
  for (wafer::Index i = 0; i < call.shape().size(); ++i) {
    const Point p = f(call.in[0].at[at(i)]);
    call.set(i, p.value, p.terms, p.near);
  }
}

template <class F>
void binary(Call& call, F f) {
  for (wafer::Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<wafer::Index> index = index_of(call.shape(), i);
    const Point p = f(broadcast_at(call.in[0], index), broadcast_at(call.in[1], index));
    call.set(i, p.value, p.terms, p.near);
  }
}

inline Point plain(double value) { return {value, std::abs(value)}; }

using Evaluation = void (*)(Call&);
using Evaluations = std::map<std::string_view, Evaluation>;

Evaluations elementwise_evaluations();
/// Products and sums.
Evaluations sum_evaluations();
/// Of rows of logits.
Evaluations class_evaluations();

}  // namespace fuzz
