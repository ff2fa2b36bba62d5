// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/math64.hpp"

#include "kernels/reference.hpp"
#include "kernels_fixture.hpp"

using namespace wafer::kernels;
using wafer_test::same_bits;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDenormal = std::numeric_limits<double>::denorm_min();

/// |actual − expected| in units of the last place of expected.
double error_in_ulps(double actual, double expected) {
  if (actual == expected) return 0;
  const double size = std::abs(expected);
  return std::abs(actual - expected) / (std::nextafter(size, kInf) - size);
}

struct Known {
  double x, y;
};

}  // namespace

// The expected values were computed with 300 bits and rounded once.

TEST_CASE("exp64 is within 1 ulp", "[kernels]") {
  const Known known[] = {{1, 0x1.5bf0a8b145769p+1},       {-1, 0x1.78b56362cef38p-2},
                         {0.5, 0x1.a61298e1e069cp+0},     {10, 0x1.5829dcf950560p+14},
                         {-100, 0x1.a8c1f14e2af5dp-145},  {700, 0x1.d945df4f8ec8ep+1009},
                         {-740, 0x0.0000000000055p-1022}, {709.75, 0x1.ef85a11e73f2dp+1023}};
  for (const Known& value : known) CHECK(error_in_ulps(exp64(value.x), value.y) <= 1);
  CHECK(same_bits(exp64(0), 1.0));
  CHECK(same_bits(exp64(-0.0), 1.0));
  CHECK(same_bits(exp64(kInf), kInf));
  CHECK(same_bits(exp64(-kInf), 0.0));
  CHECK(same_bits(exp64(710), kInf));
  CHECK(same_bits(exp64(1e300), kInf));
  CHECK(same_bits(exp64(-746), 0.0));
  CHECK(same_bits(exp64(-1e300), 0.0));
  CHECK(std::isnan(exp64(kNaN)));
}

TEST_CASE("log64 is within 1 ulp", "[kernels]") {
  const Known known[] = {{2, 0x1.62e42fefa39efp-1},          {10, 0x1.26bb1bbb55516p+1},
                         {0.1, -0x1.26bb1bbb55515p+1},       {0.75, -0x1.269621134db92p-2},
                         {1.0000001, 0x1.ad7f2847b6492p-24}, {1e300, 0x1.5963447f87fb5p+9},
                         {kDenormal, -0x1.74385446d71c3p+9}, {3, 0x1.193ea7aad030bp+0}};
  for (const Known& value : known) CHECK(error_in_ulps(log64(value.x), value.y) <= 1);
  CHECK(same_bits(log64(1), 0.0));
  CHECK(same_bits(log64(0), -kInf));
  CHECK(same_bits(log64(-0.0), -kInf));
  CHECK(same_bits(log64(kInf), kInf));
  CHECK(std::isnan(log64(-1)));
  CHECK(std::isnan(log64(-kInf)));
  CHECK(std::isnan(log64(kNaN)));
}

TEST_CASE("cos64 is within 1 ulp, however large the angle", "[kernels]") {
  // The last but two are the f64 nearest to π/2, and one that is nearest of all to a multiple of it.
  const Known known[] = {{0.5, 0x1.c1528065b7d50p-1},
                         {1, 0x1.14a280fb5068cp-1},
                         {3, -0x1.fae04be85e5d2p-1},
                         {100, 0x1.b981dbf665fdfp-1},
                         {1e6, 0x1.df9df9906d32cp-1},
                         {1e22, 0x1.0be2cef01c8f4p-1},
                         {1.5707963267948966, 0x1.1a62633145c07p-54},
                         {6381956970095103 * 0x1p797, -0x1.14ae72e6ba22fp-61},
                         {1e300, -0x1.2699022adc4c1p-1}};
  for (const Known& value : known) {
    CHECK(error_in_ulps(cos64(value.x), value.y) <= 1);
    CHECK(error_in_ulps(cos64(-value.x), value.y) <= 1);
  }
  CHECK(same_bits(cos64(0), 1.0));
  CHECK(same_bits(cos64(kDenormal), 1.0));
  CHECK(same_bits(cos64(3.141592653589793), -1.0));
  CHECK(std::isnan(cos64(kInf)));
  CHECK(std::isnan(cos64(-kInf)));
  CHECK(std::isnan(cos64(kNaN)));
}

TEST_CASE("tanh64 is within 1e-15", "[kernels]") {
  const Known known[] = {{0.01, 0x1.47ab48ae4595ep-7},
                         {0.5, 0x1.d9353d7568af3p-2},
                         {1, 0x1.85efab514f394p-1},
                         {-3, -0x1.fd77d111a0b00p-1}};
  for (const Known& value : known) CHECK(std::abs(tanh64(value.x) / value.y - 1) <= 1e-15);
  CHECK(same_bits(tanh64(20), 1.0));
  CHECK(same_bits(tanh64(kInf), 1.0));
  CHECK(same_bits(tanh64(-kInf), -1.0));
  CHECK(same_bits(tanh64(-0.0), -0.0));
  CHECK(same_bits(tanh64(1e-300), 1e-300));
  CHECK(std::isnan(tanh64(kNaN)));
}

TEST_CASE("pow64 is within 1e-14", "[kernels]") {
  struct {
    double x, y, power;
  } const known[] = {{0.999, 1e5, 0x1.940747bb85395p-145},
                     {0.9, 1000, 0x1.fee7413dac341p-153},
                     {2, 0.5, 0x1.6a09e667f3bcdp+0},
                     {10, -3, 0x1.0624dd2f1a9fcp-10},
                     {1.5, 700, 0x1.6382d2c2ff804p+409},
                     {0.999999, 1e6, 0x1.78b5570a90a47p-2},
                     {2, 1023, 0x1p+1023},
                     {-1.5, 3, -3.375},
                     {-2, -2, 0.25}};
  for (const auto& value : known) CHECK(std::abs(pow64(value.x, value.y) / value.power - 1) <= 1e-14);
  CHECK(pow64(2, -1074) == kDenormal);
  CHECK(pow64(0.999, 1e6) == 0);  // 3e-435
}

TEST_CASE("pow64 follows IEEE 754 at the ends", "[kernels]") {
  for (const double x : {0.0, -0.0, 1.0, -3.0, kInf, kNaN}) {
    CHECK(pow64(x, 0.0) == 1);
    CHECK(pow64(x, -0.0) == 1);
  }
  for (const double y : {2.5, -kInf, kNaN}) CHECK(pow64(1, y) == 1);
  CHECK(std::isnan(pow64(kNaN, 2)));
  CHECK(std::isnan(pow64(2, kNaN)));
  CHECK(std::isnan(pow64(-2, 0.5)));
  CHECK(same_bits(pow64(0, 3), 0.0));
  CHECK(same_bits(pow64(-0.0, 3), -0.0));
  CHECK(same_bits(pow64(-0.0, 4), 0.0));
  CHECK(same_bits(pow64(0, -1), kInf));
  CHECK(same_bits(pow64(-0.0, -1), -kInf));
  CHECK(same_bits(pow64(-0.0, -2), kInf));
  CHECK(same_bits(pow64(0, 0.5), 0.0));
  CHECK(same_bits(pow64(kInf, 0.5), kInf));
  CHECK(same_bits(pow64(kInf, -2), 0.0));
  CHECK(same_bits(pow64(-kInf, 3), -kInf));
  CHECK(same_bits(pow64(-kInf, -3), -0.0));
  CHECK(same_bits(pow64(0.5, kInf), 0.0));
  CHECK(same_bits(pow64(0.5, -kInf), kInf));
  CHECK(same_bits(pow64(-2, kInf), kInf));
  CHECK(same_bits(pow64(-1, kInf), 1.0));
  CHECK(same_bits(pow64(2, 1e300), kInf));
  CHECK(same_bits(pow64(2, -1e300), 0.0));
  CHECK(same_bits(pow64(-3, 1e15 + 1), -kInf));
  CHECK(same_bits(pow64(-1, 1e300), 1.0));
}

TEST_CASE("The f32 references agree with known values", "[kernels]") {
  CHECK(reference::exp(1) == 2.7182817F);
  CHECK(reference::log(10) == 2.3025851F);
  CHECK(reference::cos(1) == 0.5403023F);
  CHECK(reference::tanh(0.5F) == 0.46211717F);
  CHECK(reference::sigmoid(-2) == 0.119202919F);
  CHECK(reference::sigmoid(0.5F) == 0.622459352F);
  CHECK(reference::gelu(-3) == -0.003637392074F);
  CHECK(reference::gelu(-1) == -0.158808008F);
  CHECK(reference::gelu(3) == 2.996362686F);
  CHECK(reference::gelu_gradient(-3) == -0.01158416644F);
  CHECK(reference::gelu_gradient(0) == 0.5F);
  CHECK(reference::gelu_gradient(1) == 1.08296406F);
}
