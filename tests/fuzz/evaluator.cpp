// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluator.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

namespace fuzz {

using namespace wafer;

namespace {

constexpr double kNear = 1e-3;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Everything that an evaluation reads and writes.
struct Call {
  const OpHandle& op;
  const std::vector<Values>& in;
  const Types& types;
  const RunTime& run_time;
  std::vector<Expected> out;

  template <class T>
  const T& as() const {
    return *static_cast<const T*>(op.get());
  }
  const Shape& shape(std::size_t result = 0) const { return types[result].shape; }
  void set(Index i, double value, double terms, bool near = false, std::size_t result = 0) {
    out[result].value[at(i)] = value;
    out[result].terms[at(i)] = terms;
    out[result].near[at(i)] = near;
  }
};

std::vector<Index> index_of(const Shape& shape, Index flat) {
  std::vector<Index> index(at(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[at(d)] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

Index flat_of(const Shape& shape, const std::vector<Index>& index) {
  Index flat = 0;
  for (int d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + index[at(d)];
  return flat;
}

// The element of an operand that broadcasting puts at an index of the result.
double broadcast_at(const Values& v, const std::vector<Index>& index) {
  const auto missing = static_cast<Index>(index.size()) - v.shape.rank();
  Index flat = 0;
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
  for (Index i = 0; i < call.shape().size(); ++i) {
    const Point p = f(call.in[0].at[at(i)]);
    call.set(i, p.value, p.terms, p.near);
  }
}

template <class F>
void binary(Call& call, F f) {
  for (Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<Index> index = index_of(call.shape(), i);
    const Point p = f(broadcast_at(call.in[0], index), broadcast_at(call.in[1], index));
    call.set(i, p.value, p.terms, p.near);
  }
}

Point plain(double value) { return {value, std::abs(value)}; }

// i32 arithmetic wraps around.
Point wrapped(const Call& call, double value, double terms) {
  if (call.types[0].dtype != DType::i32) return {value, terms};
  return plain(static_cast<double>(static_cast<std::int32_t>(
      static_cast<std::uint32_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))))));
}

// Integers are never near a tie: they are equal or not.
bool close(const Call& call, double a, double b) {
  return call.types[0].dtype == DType::f32 && std::abs(a - b) < kNear;
}

constexpr double kGelu = 0.7978845608028654;  // sqrt(2 / pi)
double gelu_inner(double x) { return kGelu * (x + 0.044715 * x * x * x); }

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

void transpose_dims(Call& call) {
  const auto& op = call.as<Transpose>();
  const Values& x = call.in[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<Index> index = index_of(call.shape(), i);
    std::vector<Index> from(index.size());
    for (std::size_t d = 0; d < index.size(); ++d) from[at(op.permutation[d])] = index[d];
    const double value = x.at[at(flat_of(x.shape, from))];
    call.set(i, value, std::abs(value));
  }
}

void broadcast_to(Call& call) {
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double value = broadcast_at(call.in[0], index_of(call.shape(), i));
    call.set(i, value, std::abs(value));
  }
}

void choose(Call& call) {
  for (Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<Index> index = index_of(call.shape(), i);
    const double value = broadcast_at(call.in[broadcast_at(call.in[0], index) != 0 ? 1 : 2], index);
    call.set(i, value, std::abs(value));
  }
}

void convert(Call& call) {
  unary(call, [&](double x) -> Point {
    switch (call.types[0].dtype) {
      case DType::boolean: return plain(x != 0 ? 1 : 0);
      case DType::i32: {
        if (std::isnan(x)) return plain(0);
        const bool near = x != std::trunc(x) && std::abs(x - std::round(x)) < kNear;
        const double value = std::clamp(std::trunc(x), -2147483648.0, 2147483647.0);
        return {value, std::abs(value), near};
      }
      default: return plain(x);
    }
  });
}

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
  }
}

void cross_entropy_slopes(Call& call) {
  const Index classes = call.in[0].shape[call.in[0].shape.rank() - 1];
  for (Index row = 0; row < call.in[1].shape.size(); ++row) {
    const Softmax s = softmax(call.in[0], row, classes);
    for (Index c = 0; c < classes; ++c) {
      const Index i = row * classes + c;
      const double share = std::exp(call.in[0].at[at(i)] - s.most) / s.total;
      const double hot = static_cast<double>(c) == call.in[1].at[at(row)] ? 1 : 0;
      const double g = call.in[2].at[at(row)];
      call.set(i, (share - hot) * g, (share + hot) * std::abs(g));
    }
  }
}

void sgd(Call& call) {
  const auto& op = call.as<SgdUpdate>();
  const std::size_t scalars = op.has_momentum() ? 3 : 2;
  const double rate = call.in[scalars].at[0], scale = call.in[scalars + 1].at[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double p = call.in[0].at[at(i)], g = call.in[1].at[at(i)] * scale, decay = op.weight_decay * p;
    const double d = g + decay, d_terms = std::abs(g) + std::abs(decay);
    double step = d, step_terms = d_terms;
    if (op.has_momentum()) {
      const double kept = op.momentum * call.in[2].at[at(i)];
      const double m = kept + d, m_terms = std::abs(kept) + d_terms;
      call.set(i, m, m_terms, false, 1);
      step = op.nesterov ? d + op.momentum * m : m;
      step_terms = op.nesterov ? d_terms + op.momentum * m_terms : m_terms;
    }
    call.set(i, p - rate * step, std::abs(p) + rate * step_terms);
  }
}

void adamw(Call& call) {
  const auto& op = call.as<AdamwUpdate>();
  const double decay = call.in[4].at[0], size = call.in[5].at[0], bias = call.in[6].at[0],
               scale = call.in[7].at[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double p = call.in[0].at[at(i)], d = call.in[1].at[at(i)] * scale;
    const double old_m = op.beta1 * call.in[2].at[at(i)], new_m = (1 - op.beta1) * d;
    const double m = old_m + new_m, m_terms = std::abs(old_m) + std::abs(new_m);
    const double v = op.beta2 * call.in[3].at[at(i)] + (1 - op.beta2) * d * d;
    const double by = size / (std::sqrt(v) / bias + op.epsilon);
    call.set(i, p * decay - by * m, std::abs(p * decay) + by * m_terms);
    call.set(i, m, m_terms, false, 1);
    call.set(i, v, v, false, 2);
  }
}

void gelu_slopes(Call& call) {
  binary(call, [](double x, double g) -> Point {
    const double t = std::tanh(gelu_inner(x));
    const double left = 0.5 * (1 + t), right = 0.5 * x * (1 - t * t) * kGelu * (1 + 3 * 0.044715 * x * x);
    return {(left + right) * g, (0.5 * (1 + std::abs(t)) + std::abs(right)) * std::abs(g)};
  });
}

using Evaluation = void (*)(Call&);

const std::map<std::string_view, Evaluation>& evaluations() {
  static const std::map<std::string_view, Evaluation> all{
      {Add::name,
       [](Call& c) {
         binary(c, [&](double a, double b) { return wrapped(c, a + b, std::abs(a) + std::abs(b)); });
       }},
      {Sub::name,
       [](Call& c) {
         binary(c, [&](double a, double b) { return wrapped(c, a - b, std::abs(a) + std::abs(b)); });
       }},
      {Mul::name,
       [](Call& c) { binary(c, [&](double a, double b) { return wrapped(c, a * b, std::abs(a * b)); }); }},
      {Div::name, [](Call& c) { binary(c, [](double a, double b) { return plain(a / b); }); }},
      {Pow::name, [](Call& c) { binary(c, [](double a, double b) { return plain(std::pow(a, b)); }); }},
      {Min::name,
       [](Call& c) {
         binary(c, [&](double a, double b) {
           const double least = std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
           return Point{least, std::abs(least), close(c, a, b)};
         });
       }},
      {Max::name,
       [](Call& c) {
         binary(c, [&](double a, double b) {
           const double most = std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
           return Point{most, std::abs(most), close(c, a, b)};
         });
       }},
      {Less::name,
       [](Call& c) {
         binary(c, [](double a, double b) { return Point{a < b ? 1.0 : 0.0, 1, std::abs(a - b) < kNear}; });
       }},
      {Neg::name, [](Call& c) { unary(c, [&](double x) { return wrapped(c, -x, std::abs(x)); }); }},
      {Square::name, [](Call& c) { unary(c, [](double x) { return plain(x * x); }); }},
      {Sqrt::name, [](Call& c) { unary(c, [](double x) { return plain(std::sqrt(x)); }); }},
      {Exp::name, [](Call& c) { unary(c, [](double x) { return plain(std::exp(x)); }); }},
      {Log::name, [](Call& c) { unary(c, [](double x) { return plain(std::log(x)); }); }},
      {Cos::name, [](Call& c) { unary(c, [](double x) {
                                  return Point{std::cos(x), 1};
                                }); }},
      {Tanh::name, [](Call& c) { unary(c, [](double x) { return plain(std::tanh(x)); }); }},
      {Sigmoid::name, [](Call& c) { unary(c, [](double x) { return plain(1 / (1 + std::exp(-x))); }); }},
      {Relu::name,
       [](Call& c) {
         unary(c, [](double x) { return Point{x < 0 ? 0 : x, std::abs(x), std::abs(x) < kNear}; });
       }},
      {ReluGradient::name,
       [](Call& c) {
         binary(c, [](double x, double g) { return Point{x > 0 ? g : 0, std::abs(g), std::abs(x) < kNear}; });
       }},
      {Gelu::name,
       [](Call& c) {
         unary(c, [](double x) {
           const double t = std::tanh(gelu_inner(x));
           return Point{0.5 * x * (1 + t), 0.5 * std::abs(x) * (1 + std::abs(t))};
         });
       }},
      {GeluGradient::name, gelu_slopes},
      {Where::name, choose},
      {Cast::name, convert},
      {CheckRange::name, [](Call& c) { unary(c, plain); }},
      {Reshape::name, [](Call& c) { unary(c, plain); }},
      {Transpose::name, transpose_dims},
      {BroadcastLike::name, broadcast_to},
      {Matmul::name, matmul},
      {RowProduct::name, row_product},
      {Sum::name, sum_dims},
      {SumAll::name, [](Call& c) { sum_whole(c, [](double x) { return x; }); }},
      {SumSquares::name, [](Call& c) { sum_whole(c, [](double x) { return x * x; }); }},
      {Argmax::name, arg_max},
      {CountCorrect::name, correct},
      {SoftmaxCrossEntropy::name, cross_entropy_rows},
      {SoftmaxCrossEntropyGradient::name, cross_entropy_slopes},
      {SgdUpdate::name, sgd},
      {AdamwUpdate::name, adamw},
      {StepNumber::name,
       [](Call& c) {
         const auto step = static_cast<double>(c.run_time.step);
         c.set(0, step, step);
       }},
      {AxisExtent::name,
       [](Call& c) {
         const auto& op = c.as<AxisExtent>();
         const auto extent = static_cast<double>(c.run_time.axes.at(at(op.axis)) * op.factor);
         c.set(0, extent, extent);
       }},
  };
  return all;
}

}  // namespace

std::vector<Expected> evaluate(const OpHandle& op, const std::vector<Values>& in, const Types& results,
                               const RunTime& run_time) {
  const auto found = evaluations().find(op.name());
  if (found == evaluations().end())
    throw std::runtime_error("no f64 evaluation of op '" + std::string(op.name()) + "'");
  Call call{op, in, results, run_time, {}};
  for (const TensorType& type : results) {
    const std::size_t size = at(type.shape.size());
    call.out.push_back({std::vector<double>(size), std::vector<double>(size), std::vector<bool>(size)});
  }
  found->second(call);
  return std::move(call.out);
}

}  // namespace fuzz
