// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fuzz {

using namespace wafer;

namespace {

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

void gelu_slopes(Call& call) {
  binary(call, [](double x, double g) -> Point {
    const double t = std::tanh(gelu_inner(x));
    const double left = 0.5 * (1 + t), right = 0.5 * x * (1 - t * t) * kGelu * (1 + 3 * 0.044715 * x * x);
    return {(left + right) * g, (0.5 * (1 + std::abs(t)) + std::abs(right)) * std::abs(g)};
  });
}

}  // namespace

Evaluations elementwise_evaluations() {
  return {
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
  };
}

}  // namespace fuzz
