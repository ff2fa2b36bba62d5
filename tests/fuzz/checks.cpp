// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace fuzz {

using namespace wafer;
using testing::Array;

namespace {

constexpr double kTolerance = 1e-5;

Values values_of(const Array& array) {
  Values out{array.shape(), {}};
  switch (array.type().dtype) {
    case DType::f32:
      for (float v : array.values<float>()) out.at.push_back(static_cast<double>(v));
      break;
    case DType::f64:
      for (double v : array.values<double>()) out.at.push_back(v);
      break;
    case DType::i32:
      for (std::int32_t v : array.values<std::int32_t>()) out.at.push_back(static_cast<double>(v));
      break;
    case DType::boolean:
      for (bool v : array.values<bool>()) out.at.push_back(v ? 1 : 0);
      break;
  }
  return out;
}

std::string text(double value) {
  char out[40];
  std::snprintf(out, sizeof out, "%.9g", value);
  return out;
}

// Above what f32 holds, and what follows from infinity and NaN, there is nothing to hold against.
bool comparable(double expected, double got, DType dtype) {
  return std::isfinite(expected) && std::isfinite(got) && (dtype != DType::f32 || std::abs(expected) < 1e38);
}

// Both are the same kind of not finite, or the expected value is too large for the type.
bool agree_beyond(double expected, double got, DType dtype) {
  if (std::isnan(expected)) return std::isnan(got);
  return (dtype == DType::f32 && std::abs(expected) >= 1e38) || expected == got;
}

// What a sum of f32 may be off, over the sum of its terms' magnitudes: γ_n = n u / (1 − n u) of n roundings,
// u = 2^-24 (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1).
double rounding_bound(Index roundings) {
  const double nu = static_cast<double>(roundings) * 0x1p-24;
  return nu / (1 - nu);
}

// Holds the elements of one result against f64: within 1e-5 of the largest sum of magnitudes of terms; a sum
// whose rounding alone may be more, within its own bound.
class Comparison {
 public:
  Comparison(const Expected& expected, DType dtype, std::string_view op, Counts& counts)
      : expected_(expected),
        dtype_(dtype),
        op_(op),
        counts_(counts),
        bound_(rounding_bound(expected.roundings)) {
    for (double t : expected.terms) largest_ = std::isfinite(t) ? std::max(largest_, t) : largest_;
    if (!long_sum()) return;
    ++counts.long_sums.sums;
    counts.long_sums.most_roundings = std::max(counts.long_sums.most_roundings, expected.roundings);
  }

  std::string run(const Values& got) {
    for (std::size_t i = 0; i < expected_.value.size(); ++i) {
      const double want = expected_.value[i], have = got.at[i];
      bool good = true;
      if (expected_.near[i]) {
        ++counts_.near;
      } else if (!comparable(want, have, dtype_)) {
        ++counts_.not_finite;
        good = agree_beyond(want, have, dtype_);
      } else {
        good = near_enough(i, std::abs(want - have));
      }
      if (good) continue;
      return "element " + std::to_string(i) + ": expected " + text(want) + ", got " + text(have) +
             ", sum of magnitudes " + text(expected_.terms[i]) + ", largest " + text(largest_) + ", " +
             std::to_string(expected_.roundings) + " roundings";
    }
    return "";
  }

 private:
  bool long_sum() const { return bound_ > kTolerance; }

  bool near_enough(std::size_t i, double error) {
    // Results and intermediates below the normal numbers of f32 are rounded to multiples of the least one.
    const double least = dtype_ == DType::f32 ? static_cast<double>(FLT_MIN) : 0;
    const double usual = kTolerance * largest_ + least;
    const double relative = largest_ > 1e-30 ? error / largest_ : 0;
    if (!long_sum()) {
      ++counts_.evaluated;
      counts_.worst.see(relative, op_);
      return error <= usual;
    }
    const double allowed = std::max(usual, bound_ * expected_.terms[i] + least);
    ++counts_.long_sums.elements;
    counts_.long_sums.beyond += error > usual ? 1 : 0;
    counts_.long_sums.worst.see(relative, op_);
    counts_.long_sums.worst_of_allowed.see(error / allowed, op_);
    return error <= allowed;
  }

  const Expected& expected_;
  const DType dtype_;
  const std::string_view op_;
  Counts& counts_;
  const double bound_;
  double largest_ = 0;
};

bool finite(const std::vector<Values>& in) {
  return std::all_of(in.begin(), in.end(), [](const Values& v) {
    return std::all_of(v.at.begin(), v.at.end(), [](double x) { return std::isfinite(x); });
  });
}

}  // namespace

std::string first_difference(const Array& expected, const void* got, const TensorType& type) {
  if (expected.type() != type) return "expected " + text_of(expected.type()) + ", got " + text_of(type);
  const auto size = static_cast<std::size_t>(size_of(type.dtype));
  const auto* const a = expected.bytes().data();
  const auto* const b = static_cast<const std::byte*>(got);
  const Array wrapped = [&] {
    Array copy(type);
    if (!copy.bytes().empty()) std::memcpy(copy.bytes().data(), b, copy.bytes().size());
    return copy;
  }();
  if (expected.bytes().empty() || std::memcmp(a, b, expected.bytes().size()) == 0) return "";
  const auto wanted = values_of(expected), had = values_of(wrapped);
  Index differing = 0, first = -1;
  for (Index i = 0; i < type.shape.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::memcmp(a + at * size, b + at * size, size) == 0) continue;
    if (std::isnan(wanted.at[at]) && std::isnan(had.at[at])) continue;  // whose sign no one defines
    if (first < 0) first = i;
    ++differing;
  }
  if (first < 0) return "";
  const auto at = static_cast<std::size_t>(first);
  return text_of(type) + " element " + std::to_string(first) + ": expected " + text(wanted.at[at]) +
         ", got " + text(had.at[at]) + "; " + std::to_string(differing) + " differ";
}

std::string check_against_f64(const std::shared_ptr<GraphData>& graph, const Program& program,
                              testing::Interpreter& interpreter, const RunTime& run_time, Counts& counts) {
  for (NodeId id : program.order) {
    const Node& node = graph->nodes[id];
    ++counts.ops[std::string(node.op.name())];
    std::vector<Values> in;
    for (ValueId value : graph->inputs_of(node))
      in.push_back(values_of(interpreter.value(Tensor(graph, value))));
    Types types;
    for (std::uint32_t r = 0; r < node.values; ++r)
      types.push_back(interpreter.type_of(Tensor(graph, node.first_value + r)));
    if (!finite(in)) {
      for (const TensorType& type : types) counts.not_finite += type.shape.size();
      continue;
    }
    const std::vector<Expected> expected = evaluate(node.op, in, types, run_time);
    for (std::uint32_t r = 0; r < node.values; ++r) {
      const Values got = values_of(interpreter.value(Tensor(graph, node.first_value + r)));
      const std::string wrong = Comparison(expected[r], types[r].dtype, node.op.name(), counts).run(got);
      if (wrong.empty()) continue;
      return graph->where(id) + " " + node.op.text() + ": " + text_of(graph->input_types(node)) + " -> " +
             text_of(types[r]) + " against f64, result " + std::to_string(r) + ", " + wrong;
    }
  }
  return "";
}

}  // namespace fuzz
