// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>

#include "kernels/reference.hpp"
#include "kernels_fixture.hpp"

using namespace wafer_test;
namespace kernels = wafer::kernels;
using kernels::Table;

namespace {

constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();

float one(kernels::Unary* function, float x) {
  float y = 0;
  function(1, 1, &x, 0, &y, 0);
  return y;
}

float one(kernels::Binary* function, float a, float b) {
  float y = 0;
  function(1, 1, {&a, 0, 1}, {&b, 0, 1}, &y, 0);
  return y;
}

/// Bit patterns spread over all floats: NaN, infinities and denormals among them.
Floats all_kinds() {
  Floats values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 65521) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const float value :
       {0.0F, 1.0F, 0.5F, 88.72283F, 88.72284F, 103.9F, 104.1F, kDenormal, kLargest, kInfinity}) {
    values.push_back(value);
    values.push_back(-value);
  }
  for (float value = -12; value < 12; value += 1.0F / 256) values.push_back(value);
  return values;
}

Floats apply(kernels::Unary* function, const Floats& x) {
  Floats y(x.size());
  function(1, static_cast<Index>(x.size()), x.data(), 0, y.data(), 0);
  return y;
}

Floats apply(kernels::Binary* function, const Floats& a, const Floats& b) {
  Floats y(a.size());
  function(1, static_cast<Index>(a.size()), {a.data(), 0, 1}, {b.data(), 0, 1}, y.data(), 0);
  return y;
}

std::vector<kernels::Unary*> unaries(const Table& table) {
  return {table.neg,    table.sqrt, table.exp,  table.log,     table.cos,
          table.square, table.relu, table.gelu, table.sigmoid, table.tanh};
}

std::vector<kernels::Binary*> binaries(const Table& table) {
  return {table.add, table.sub, table.mul,           table.div,          table.min,
          table.max, table.pow, table.relu_gradient, table.gelu_gradient};
}

/// The greatest error in ulps, except where it is below `negligible`.
std::int64_t worst(kernels::Unary* function, float (*reference)(float), float negligible,
                   float bound = kInfinity) {
  const Floats x = all_kinds();
  const Floats y = apply(function, x);
  std::int64_t worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = reference(x[i]);
    if (std::abs(x[i]) > bound || std::abs(y[i] - expected) <= negligible) continue;
    worst = std::max(worst, distance_in_ulps(y[i], expected));
  }
  return worst;
}

}  // namespace

WAFER_KERNEL_CASE("Element-wise functions are as accurate as they say") {
  WAFER_KERNEL_TABLE();
  CHECK(worst(table.exp, kernels::reference::exp, 0) <= 1);
  CHECK(worst(table.log, kernels::reference::log, 0) <= 2);
  CHECK(worst(table.tanh, kernels::reference::tanh, 0) <= 4);
  CHECK(worst(table.sigmoid, kernels::reference::sigmoid, 0) <= 3);
  CHECK(worst(table.cos, kernels::reference::cos, 2e-7F) == 0);  // also beyond Highway's range
  CHECK(worst(table.gelu, kernels::reference::gelu, 1e-12F, 1) <= 4);
  CHECK(worst(table.gelu, kernels::reference::gelu, 1e-6F) <= 4);
}

WAFER_KERNEL_CASE("Element-wise functions of known values") {
  WAFER_KERNEL_TABLE();
  CHECK(one(table.neg, 0) == 0);
  CHECK(std::signbit(one(table.neg, 0)));
  CHECK(one(table.sqrt, 2) == 1.41421354F);
  CHECK(std::isnan(one(table.sqrt, -1)));
  CHECK(one(table.square, -3) == 9);
  CHECK(one(table.exp, 0) == 1);
  CHECK(relative_error(one(table.exp, 1), 2.7182818) <= 1e-7);
  CHECK(same_bits(one(table.exp, -kInfinity), 0.0F));
  CHECK(one(table.exp, kInfinity) == kInfinity);
  CHECK(one(table.exp, 1e30F) == kInfinity);
  CHECK(one(table.exp, 88.72284F) == kInfinity);
  CHECK(relative_error(one(table.exp, 88.72283F), 3.40279e38) <= 1e-5);
  CHECK(same_bits(one(table.exp, -104), 0.0F));
  CHECK(same_bits(one(table.exp, -1e30F), 0.0F));
  CHECK(one(table.exp, -103.27892F) == kDenormal);  // log of the least denormal
  CHECK(one(table.log, 1) == 0);
  CHECK(same_bits(one(table.log, 0.0F), -kInfinity));
  CHECK(same_bits(one(table.log, -0.0F), -kInfinity));
  CHECK(std::isnan(one(table.log, -1)));
  CHECK(std::isnan(one(table.log, -kInfinity)));
  CHECK(one(table.log, kInfinity) == kInfinity);
  CHECK(relative_error(one(table.log, kDenormal), -103.27893) <= 1e-6);
  CHECK(one(table.cos, 0) == 1);
  CHECK(relative_error(one(table.cos, 1e22F), 0.679061337) <= 1e-6);  // 1e22F is 9999999778196308361216
  CHECK(std::isnan(one(table.cos, kInfinity)));
  CHECK(same_bits(one(table.relu, -1), 0.0F));
  CHECK(same_bits(one(table.relu, -0.0F), 0.0F));
  CHECK(one(table.relu, 2.5F) == 2.5F);
  CHECK(one(table.relu, -kInfinity) == 0);
  CHECK(one(table.sigmoid, 0) == 0.5F);
  CHECK(one(table.sigmoid, 1000) == 1);
  CHECK(same_bits(one(table.sigmoid, -1000), 0.0F));
  CHECK(one(table.sigmoid, kInfinity) == 1);
  CHECK(same_bits(one(table.sigmoid, -kInfinity), 0.0F));
  CHECK(one(table.tanh, 20) == 1);
  CHECK(one(table.tanh, kInfinity) == 1);
  CHECK(one(table.tanh, -kInfinity) == -1);
  CHECK(same_bits(one(table.tanh, -0.0F), -0.0F));
  CHECK(relative_error(one(table.gelu, -1), -0.158808008) <= 1e-6);
  CHECK(relative_error(one(table.gelu, 3), 2.996362686) <= 1e-6);
  CHECK(one(table.gelu, 20) == 20);
  CHECK(one(table.gelu, -20) == 0);
  CHECK(one(table.gelu, kInfinity) == kInfinity);
  CHECK(one(table.gelu, -kInfinity) == 0);
  CHECK(one(table.gelu, kLargest) == kLargest);
  CHECK(one(table.gelu, -kLargest) == 0);
  for (kernels::Unary* function : unaries(table)) CHECK(std::isnan(one(function, kNan)));
}

WAFER_KERNEL_CASE("Functions of two operands of known values") {
  WAFER_KERNEL_TABLE();
  CHECK(one(table.add, 1, 2) == 3);
  CHECK(one(table.sub, 1, 2) == -1);
  CHECK(one(table.mul, 3, -2) == -6);
  CHECK(one(table.div, 1, 3) == 1.0F / 3.0F);
  CHECK(one(table.div, 1, 0) == kInfinity);
  CHECK(one(table.min, 1, 2) == 1);
  CHECK(one(table.max, 1, 2) == 2);
  CHECK(one(table.max, -kInfinity, kInfinity) == kInfinity);
  CHECK(one(table.pow, 2, 10) == 1024);
  CHECK(one(table.pow, 2, -1) == 0.5F);
  CHECK(one(table.pow, 0, 2) == 0);
  CHECK(one(table.pow, 0, 0) == 1);
  CHECK(one(table.pow, kNan, 0) == 1);
  CHECK(one(table.pow, -2, 3) == -8);
  CHECK(one(table.pow, -2, 2) == 4);
  CHECK(std::isnan(one(table.pow, -2, 0.5F)));
  CHECK(relative_error(one(table.pow, 1.1F, 50), 117.39098) <= 1e-6);  // 1.1F is 1.10000002384
  CHECK(one(table.relu_gradient, 1, 5) == 5);
  CHECK(one(table.relu_gradient, 0, 5) == 0);
  CHECK(one(table.relu_gradient, -1, 5) == 0);
  CHECK(one(table.gelu_gradient, 0, 1) == 0.5F);
  CHECK(relative_error(one(table.gelu_gradient, -1, 1), -0.08296408504) <= 1e-5);
  CHECK(relative_error(one(table.gelu_gradient, 1, 2), 2 * 1.08296406) <= 1e-6);
  CHECK(one(table.gelu_gradient, 20, 1) == 1);
  CHECK(one(table.gelu_gradient, -20, 1) == 0);
  CHECK(one(table.gelu_gradient, kInfinity, 1) == 1);
  CHECK(one(table.gelu_gradient, -kInfinity, 1) == 0);
  CHECK(one(table.gelu_gradient, kLargest, 3) == 3);
  CHECK(std::isnan(one(table.gelu_gradient, kNan, 1)));
  for (kernels::Binary* function : {table.add, table.sub, table.mul, table.div, table.min, table.max}) {
    CHECK(std::isnan(one(function, kNan, 1)));
    CHECK(std::isnan(one(function, 1, kNan)));
  }
}

WAFER_KERNEL_CASE("gelu's gradient agrees with its reference") {
  WAFER_KERNEL_TABLE();
  for (const float x : all_kinds()) {
    const float expected = kernels::reference::gelu_gradient(x);
    const float actual = one(table.gelu_gradient, x, 1);
    if (!(std::abs(actual - expected) <= 5e-7F) && !std::isnan(expected)) FAIL("at " << x);
  }
  SUCCEED();
}

WAFER_KERNEL_CASE("An element's bits depend neither on its position nor on the length of the range") {
  WAFER_KERNEL_TABLE();
  Random random(4);
  const Floats x = random.floats(131, 0.1F, 3);
  const Floats z = random.floats(131, -2, 2);
  for (const Index n : {0, 1, 3, 4, 5, 8, 15, 16, 17, 33, 64, 100}) {
    for (const Index begin : {0, 1, 7, 31}) {
      for (kernels::Unary* function : unaries(table)) {
        Floats part(
            static_cast<std::size_t>(n));  // of its exact size, so that a sanitizer sees a write beyond
        function(1, n, x.data() + begin, 0, part.data(), 0);
        const Floats whole = apply(function, x);
        CHECK(same_bits(part, Floats(whole.begin() + begin, whole.begin() + begin + n)));
      }
      for (kernels::Binary* function : binaries(table)) {
        Floats part(static_cast<std::size_t>(n));
        function(1, n, {x.data() + begin, 0, 1}, {z.data() + begin, 0, 1}, part.data(), 0);
        const Floats whole = apply(function, x, z);
        CHECK(same_bits(part, Floats(whole.begin() + begin, whole.begin() + begin + n)));
      }
    }
  }
}

WAFER_KERNEL_CASE("An operand of stride 0 is one value, and the result may overwrite an operand") {
  WAFER_KERNEL_TABLE();
  Random random(5);
  for (const Index n : {1, 5, 16, 37}) {
    const Floats a = random.floats(n, 0.1F, 3);
    const Floats b = random.floats(n, -2, 2);
    const Floats a0(a.size(), a[0]);
    const Floats b0(b.size(), b[0]);
    for (kernels::Binary* function : binaries(table)) {
      Floats y(a.size());
      function(1, n, {a.data(), 0, 0}, {b.data(), 0, 1}, y.data(), 0);
      CHECK(same_bits(y, apply(function, a0, b)));
      function(1, n, {a.data(), 0, 1}, {b.data(), 0, 0}, y.data(), 0);
      CHECK(same_bits(y, apply(function, a, b0)));
      function(1, n, {a.data(), 0, 0}, {b.data(), 0, 0}, y.data(), 0);
      CHECK(same_bits(y, apply(function, a0, b0)));
      y = a;
      function(1, n, {y.data(), 0, 1}, {b.data(), 0, 1}, y.data(), 0);
      CHECK(same_bits(y, apply(function, a, b)));
      y = a;
      function(1, n, {y.data(), 0, 0}, {b.data(), 0, 1}, y.data(), 0);
      CHECK(same_bits(y, apply(function, a0, b)));
    }
    for (kernels::Unary* function : unaries(table)) {
      Floats y = a;
      function(1, n, y.data(), 0, y.data(), 0);
      CHECK(same_bits(y, apply(function, a)));
    }
  }
}

WAFER_KERNEL_CASE("Rows of a matrix may have gaps, and a row or a column may serve all") {
  WAFER_KERNEL_TABLE();
  Random random(7);
  const Index rows = 3, cols = 19, row = 23;
  const Floats a = random.floats(rows * row, 0.1F, 3);
  const Floats b = random.floats(rows * row, -2, 2);
  const auto at = [](Index i, Index i_stride, Index j, Index j_stride) {
    return static_cast<std::size_t>(i * i_stride + j * j_stride);
  };
  for (const auto& [b_row, b_col] : {std::pair<Index, Index>{row, 1}, {0, 1}, {row, 0}, {0, 0}}) {
    for (kernels::Binary* function : binaries(table)) {
      Floats y(a.size(), 7);
      function(rows, cols, {a.data(), row, 1}, {b.data(), b_row, b_col}, y.data(), row);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < row; ++j) {
          const float expected = j < cols ? one(function, a[at(i, row, j, 1)], b[at(i, b_row, j, b_col)]) : 7;
          CHECK(same_bits(y[at(i, row, j, 1)], expected));
        }
      }
    }
  }
  for (kernels::Unary* function : unaries(table)) {
    Floats y(static_cast<std::size_t>(rows * cols), 7);
    function(rows, cols, a.data(), row, y.data(), cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        CHECK(same_bits(y[at(i, cols, j, 1)], one(function, a[at(i, row, j, 1)])));
      }
    }
  }
}

WAFER_KERNEL_CASE("less and where choose element by element") {
  WAFER_KERNEL_TABLE();
  Random random(6);
  for (const Index n : {0, 1, 4, 7, 16, 31, 64}) {
    const auto size = static_cast<std::size_t>(n);
    Floats a = random.floats(n);
    Floats b = random.floats(n);
    if (n > 3) a[1] = kNan, b[2] = kNan, a[3] = b[3];
    const auto chosen = std::make_unique<bool[]>(size);
    Floats y(size);
    for (const bool a_splat : {false, true}) {
      for (const bool b_splat : {false, true}) {
        const auto a_of = [&](std::size_t i) { return a[a_splat ? 0 : i]; };
        const auto b_of = [&](std::size_t i) { return b[b_splat ? 0 : i]; };
        table.less(n, a.data(), a_splat ? 0 : 1, b.data(), b_splat ? 0 : 1, chosen.get());
        table.where(n, chosen.get(), 1, a.data(), a_splat ? 0 : 1, b.data(), b_splat ? 0 : 1, y.data());
        for (std::size_t i = 0; i < size; ++i) {
          CHECK(std::bit_cast<std::uint8_t>(chosen[i]) == (a_of(i) < b_of(i) ? 1 : 0));
          CHECK(same_bits(y[i], a_of(i) < b_of(i) ? a_of(i) : b_of(i)));
        }
        if (n == 0) continue;
        table.where(n, chosen.get(), 0, a.data(), a_splat ? 0 : 1, b.data(), b_splat ? 0 : 1, y.data());
        for (std::size_t i = 0; i < size; ++i) CHECK(same_bits(y[i], chosen[0] ? a_of(i) : b_of(i)));
      }
    }
  }
}

WAFER_KERNEL_CASE("Element-wise functions have the bits of all targets alike in fused multiply-add") {
  WAFER_KERNEL_TABLE();
  const Floats x = all_kinds();
  Floats z = x;
  std::reverse(z.begin(), z.end());
  std::uint64_t hash = hash_of({});
  for (kernels::Unary* function : unaries(table)) hash = hash_of(apply(function, x), hash);
  for (kernels::Binary* function : binaries(table)) hash = hash_of(apply(function, x, z), hash);
  CHECK(hash == (kernels::fuses(kTarget) ? 0xf283bd7c041d7935 : 0xd0fd63bf9d5aa96f));
}
