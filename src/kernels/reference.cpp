// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference.hpp"

#include "kernels/math64.hpp"

namespace wafer::inline v0::kernels::reference {

namespace {

constexpr double kTwiceSqrtTwoOverPi = 1.5957691216057308;
constexpr double kCubic = 0.044715;

double sigmoid64(double x) {
  const double e = exp64(x < 0 ? x : -x);
  return (x < 0 ? e : 1) / (1 + e);
}

/// x/2 · (1 + tanh(u)) = x · sigmoid(2u): this is 2u.
double gelu_argument(double x) { return kTwiceSqrtTwoOverPi * (x + kCubic * x * x * x); }

}  // namespace

float exp(float x) { return static_cast<float>(exp64(static_cast<double>(x))); }
float log(float x) { return static_cast<float>(log64(static_cast<double>(x))); }
float cos(float x) { return static_cast<float>(cos64(static_cast<double>(x))); }
float tanh(float x) { return static_cast<float>(tanh64(static_cast<double>(x))); }
float sigmoid(float x) { return static_cast<float>(sigmoid64(static_cast<double>(x))); }

float gelu(float x) {
  const double wide = x < -40 ? -40 : static_cast<double>(x);  // keeps ∞ · 0 out
  return static_cast<float>(wide * sigmoid64(gelu_argument(wide)));
}

float gelu_gradient(float x) {
  const double wide = x < -40 ? -40 : x > 40 ? 40 : static_cast<double>(x);
  const double s = sigmoid64(gelu_argument(wide));
  const double other = sigmoid64(-gelu_argument(wide));  // 1 − s without cancellation
  return static_cast<float>(s + wide * s * other * kTwiceSqrtTwoOverPi * (1 + 3 * kCubic * wide * wide));
}

}  // namespace wafer::inline v0::kernels::reference
