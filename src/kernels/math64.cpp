// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/math64.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace wafer::inline v0::kernels {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts: the first has 32 bits, so that its products with exponents are exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

constexpr int kMantissaBits = 52;
constexpr int kBias = 1023;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;

bool is_nan(double x) { return x != x; }
double magnitude(double x) { return x < 0 ? -x : x; }
bool is_negative(double x) { return (std::bit_cast<std::uint64_t>(x) >> 63) != 0; }

/// 2^e for a normal result.
double power_of_two(int e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + kBias) << kMantissaBits);
}

/// An unevaluated sum, |low| being at most half a unit in the last place of high.
struct Pair {
  double high, low;
};

Pair sum(double a, double b) {  // Knuth's; no order asked
  const double s = a + b;
  const double part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}

Pair product(double a, double b) {      // Dekker's: each factor is split in halves of 26 bits
  constexpr double kSplit = 134217729;  // 2^27 + 1
  const double a_high = a * kSplit - (a * kSplit - a);
  const double b_high = b * kSplit - (b * kSplit - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double p = a * b;
  return {p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// Horner's scheme, the constant term first.
template <std::size_t kTerms>
double polynomial(double x, const std::array<double, kTerms>& terms) {
  double y = terms[kTerms - 1];
  for (std::size_t i = kTerms - 1; i-- > 0;) y = y * x + terms[i];
  return y;
}

/// 1/first!, 1/(first + step)!, ..., with the signs + − + − when `alternate`.
template <std::size_t kTerms>
constexpr std::array<double, kTerms> inverse_factorials(int first, int step, bool alternate) {
  std::array<double, kTerms> terms{};
  double factorial = 1;
  int next = 1;
  for (std::size_t i = 0; i < kTerms; ++i) {
    const int n = first + static_cast<int>(i) * step;
    for (; next <= n; ++next) factorial *= next;
    terms[i] = (alternate && i % 2 == 1 ? -1 : 1) / factorial;
  }
  return terms;
}

/// e^(high + low) = 2^k · e^r with |r| <= ln 2 / 2, where Taylor's series to r^13 is exact to 2^-57.
double exp_of(Pair x) {
  if (x.high > 710) return kInfinity;
  if (x.high < -746) return 0;
  static constexpr auto kTerms = inverse_factorials<12>(2, 1, false);
  constexpr double kLog2E = 1.4426950408889634;
  const int k = static_cast<int>(x.high * kLog2E + (x.high < 0 ? -0.5 : 0.5));
  const double reduced = x.high - k * kLn2High;  // exact
  const double rest = k * kLn2Low;
  const double r = reduced - rest;
  const double r_low = ((reduced - r) - rest) + x.low;
  const double y = 1 + (r + (r * r * polynomial(r, kTerms) + (r_low + r_low * r)));
  return y * power_of_two(k / 2) * power_of_two(k - k / 2);  // the second product rounds a denormal, once
}

/// log x for 0 < x < ∞ as a pair, to about 2^-58: x = 2^e · m with m in [√½, √2); with s = (m−1) / (m+1),
/// log m = 2 s + 2/3 s³ + 2/5 s⁵ + ..., where |s| < 0.172.
Pair log_of(double x) {
  int e = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  e += static_cast<int>(bits >> kMantissaBits) - kBias;
  double m = std::bit_cast<double>((bits & kMantissaMask) | std::uint64_t{kBias} << kMantissaBits);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++e;
  }
  const double numerator = m - 1;  // exact
  const Pair denominator = sum(m, 1);
  const double s = numerator / denominator.high;
  const Pair back = product(s, denominator.high);
  const double s_low = (((numerator - back.high) - back.low) - s * denominator.low) / denominator.high;
  static constexpr std::array kTerms = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                        2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  const double z = s * s;
  const double series = s * z * polynomial(z, kTerms);
  const Pair head = sum(e * kLn2High, 2 * s);
  return sum(head.high, head.low + (series + 2 * s_low + e * kLn2Low));
}

/// An angle r in [−π/4, π/4], and how many right angles were taken off.
struct Reduced {
  Pair r;
  unsigned quadrant;
};

__extension__ using Wide = unsigned __int128;

/// The bits of 2/π behind the point, preceded by a word of zeros.
constexpr std::array<std::uint64_t, 21> kTwoOverPi = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d};

/// 64 bits of the string above, from bit `begin`.
std::uint64_t bits_from(int begin) {
  const auto word = static_cast<std::size_t>(begin / 64);
  const int shift = begin % 64;
  return shift == 0 ? kTwoOverPi[word] : kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

/// For finite x >= π/4. Payne and Hanek's reduction: x = M · 2^e with an integer M, and of x · 2/π only the
/// part below 4 matters, so of 2/π only the 192 bits from the one that weighs 2^(1−e) on; the rest is below
/// 2^-136.
Reduced reduce(double x) {
  const auto pattern = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t mantissa = (pattern & kMantissaMask) | (kMantissaMask + 1);
  const int e = static_cast<int>(pattern >> kMantissaBits) - kBias - kMantissaBits;
  const int begin = 64 + e - 2;
  const Wide low = Wide{mantissa} * bits_from(begin + 128);
  const Wide middle = Wide{mantissa} * bits_from(begin + 64) + static_cast<std::uint64_t>(low >> 64);
  std::uint64_t word0 = mantissa * bits_from(begin) + static_cast<std::uint64_t>(middle >> 64);
  auto word1 = static_cast<std::uint64_t>(middle);
  auto word2 = static_cast<std::uint64_t>(low);

  // Two bits of whole quadrants, 190 of fraction, which is rounded to the nearest: in [−1/2, 1/2].
  auto quadrant = static_cast<unsigned>(word0 >> 62);
  word0 = word0 << 2 | word1 >> 62;
  word1 = word1 << 2 | word2 >> 62;
  word2 <<= 2;
  double sign = 1;
  if ((word0 >> 63) != 0) {
    ++quadrant;
    sign = -1;
    word2 = ~word2 + 1;
    word1 = ~word1 + (word2 == 0 ? 1 : 0);
    word0 = ~word0 + (word2 == 0 && word1 == 0 ? 1 : 0);
  }
  const double part0 = static_cast<double>(word0 >> 11) * 0x1p-53;
  const double part1 = static_cast<double>((word0 & 0x7ff) << 42 | word1 >> 22) * 0x1p-106;
  const double part2 = static_cast<double>((word1 & 0x3fffff) << 31 | word2 >> 33) * 0x1p-159;
  const Pair head = sum(part0, part1);
  const Pair fraction = sum(head.high, head.low + part2);

  constexpr Pair kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  const Pair main = product(fraction.high, kHalfPi.high);
  const Pair r = sum(main.high, main.low + (fraction.high * kHalfPi.low + fraction.low * kHalfPi.high));
  return {{sign * r.high, sign * r.low}, quadrant % 4};
}

/// Taylor's series of cosine and sine are exact to 2^-58 for |x| <= π/4.
double cos_near_zero(Pair x) {
  static constexpr auto kTerms = inverse_factorials<8>(4, 2, true);
  const double z = x.high * x.high;
  const double half = z / 2;
  const double head = 1 - half;
  return head + (((1 - head) - half) + (z * z * polynomial(z, kTerms) - x.high * x.low));
}

double sin_near_zero(Pair x) {
  static constexpr auto kTerms = inverse_factorials<8>(3, 2, true);
  const double z = x.high * x.high;
  return x.high + (x.low * (1 - z / 2) - x.high * z * polynomial(z, kTerms));
}

bool is_integer(double x) {  // finite x; beyond 2^53 all are
  return magnitude(x) >= 0x1p53 || static_cast<double>(static_cast<std::int64_t>(x)) == x;
}
bool is_odd(double x) {
  return magnitude(x) < 0x1p53 && is_integer(x) && static_cast<std::int64_t>(x) % 2 != 0;
}

}  // namespace

double exp64(double x) { return is_nan(x) ? x : exp_of({x, 0}); }

double log64(double x) {
  if (is_nan(x) || x == kInfinity) return x;
  if (x < 0) return kNan;
  if (x == 0) return -kInfinity;
  const Pair y = log_of(x);
  return y.high + y.low;
}

double pow64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (is_nan(x) || is_nan(y)) return kNan;
  const bool odd = is_odd(y);
  const double sign = is_negative(x) && odd ? -1 : 1;
  const double size = magnitude(x);
  if (magnitude(y) == kInfinity) return size == 1 ? 1 : (size > 1) == (y > 0) ? kInfinity : 0;
  if (size == 0 || size == kInfinity) return sign * ((size == 0) == (y > 0) ? 0 : kInfinity);
  if (x < 0 && !is_integer(y)) return kNan;
  const Pair log = log_of(size);
  const double estimate = y * log.high;
  if (magnitude(estimate) > 1000) return sign * (estimate > 0 ? kInfinity : 0);
  const Pair main = product(y, log.high);
  return sign * exp_of(sum(main.high, main.low + y * log.low));
}

double cos64(double x) {
  const double size = magnitude(x);
  if (!(size < kInfinity)) return kNan;
  if (size < 0.78) return cos_near_zero({size, 0});
  const Reduced angle = reduce(size);
  switch (angle.quadrant) {
    case 0: return cos_near_zero(angle.r);
    case 1: return -sin_near_zero(angle.r);
    case 2: return -cos_near_zero(angle.r);
    default: return sin_near_zero(angle.r);
  }
}

double tanh64(double x) {
  const double size = magnitude(x);
  if (size < 0.1) {
    static constexpr std::array kTerms = {
        1.0,         -1.0 / 3,         2.0 / 15,          -17.0 / 315,
        62.0 / 2835, -1382.0 / 155925, 21844.0 / 6081075, -929569.0 / 638512875};
    return x * polynomial(x * x, kTerms);
  }
  const double e = exp64(-2 * size);
  const double y = (1 - e) / (1 + e);
  return x < 0 ? -y : y;
}

}  // namespace wafer::inline v0::kernels
