// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels_fixture.hpp"

using namespace wafer_test;

namespace {

/// The definition of SumRow, with elements of type T.
template <class T>
T sum_by_definition(const std::vector<T>& x, T total) {
  for (std::size_t chunk = 0; chunk < x.size(); chunk += 64) {
    const std::size_t end = std::min(x.size(), chunk + 64);
    std::vector<T> lanes;  // as many as exist
    for (std::size_t i = chunk; i < end; ++i) {
      if (i - chunk < 16) {
        lanes.push_back(x[i]);
      } else {
        lanes[(i - chunk) % 16] += x[i];
      }
    }
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half && l + half < lanes.size(); ++l) lanes[l] += lanes[l + half];
      lanes.resize(std::min(lanes.size(), half));
    }
    total += lanes[0];
  }
  return total;
}

template <class F>
std::vector<double> widened(const Floats& x, F f) {
  std::vector<double> y;
  for (const float value : x) y.push_back(f(static_cast<double>(value)));
  return y;
}

}  // namespace

WAFER_KERNEL_CASE("Sums over a last axis have the bits of their definition") {
  WAFER_KERNEL_TABLE();
  Random random(7);
  for (Index n = 0; n <= 300; ++n) {
    const Floats x = random.floats(n, -100, 100);
    const float start = n % 2 == 0 ? 0.0F : 12.25F;
    CHECK(same_bits(table.sum_row(n, x.data(), start), sum_by_definition(x, start)));
    CHECK(same_bits(table.sum_row_f64(n, x.data()),
                    sum_by_definition(widened(x, [](double v) { return v; }), 0.0)));
    CHECK(same_bits(table.sum_squares_row_f64(n, x.data()),
                    sum_by_definition(widened(x, [](double v) { return v * v; }), 0.0)));
  }
}

WAFER_KERNEL_CASE("Sums of rows that lie side by side have the bits of their definition") {
  WAFER_KERNEL_TABLE();
  Random random(12);
  for (const Index rows : {0, 1, 3, 7, 8, 9, 31, 32}) {
    for (const Index n : {0, 1, 15, 16, 17, 63, 64, 65, 130, 300}) {
      const Index stride = rows + n % 3;
      const Floats x = random.floats(std::max<Index>(1, n * stride), -100, 100);
      const auto expected = [&](auto term) {
        std::vector<double> sums;
        for (Index i = 0; i < rows; ++i) {
          Floats row;
          for (Index j = 0; j < n; ++j) row.push_back(x[static_cast<std::size_t>(i + j * stride)]);
          sums.push_back(sum_by_definition(widened(row, term), 0.0));
        }
        return sums;
      };
      INFO(rows << " rows of " << n);
      std::vector<double> actual(static_cast<std::size_t>(rows), 77);
      table.sum_adjacent_rows_f64(rows, n, x.data(), stride, actual.data());
      CHECK(same_bits(actual, expected([](double v) { return v; })));
      table.sum_squares_adjacent_rows_f64(rows, n, x.data(), stride, actual.data());
      CHECK(same_bits(actual, expected([](double v) { return v * v; })));
    }
  }
}

WAFER_KERNEL_CASE("A sum over a last axis may be cut at multiples of 64") {
  WAFER_KERNEL_TABLE();
  Random random(8);
  const Floats x = random.floats(333);
  const float whole = table.sum_row(333, x.data(), 0.5F);
  for (const Index cut : {64, 128, 320}) {
    CHECK(same_bits(table.sum_row(333 - cut, x.data() + cut, table.sum_row(cut, x.data(), 0.5F)), whole));
  }
}

WAFER_KERNEL_CASE("A sum keeps negative zero, NaN and infinity") {
  WAFER_KERNEL_TABLE();
  for (const Index n : {1, 15, 16, 17, 63, 64, 65}) {
    Floats x(static_cast<std::size_t>(n), -0.0F);
    CHECK(same_bits(table.sum_row(n, x.data(), -0.0F), -0.0F));
    CHECK(same_bits(table.sum_row(n, x.data(), 0.0F), 0.0F));
    x.back() = kInfinity;
    CHECK(table.sum_row(n, x.data(), 0) == kInfinity);
    CHECK(table.sum_squares_row_f64(n, x.data()) == kInfinity);
    x.back() = kNan;
    CHECK(std::isnan(table.sum_row(n, x.data(), 0)));
    CHECK(std::isnan(table.sum_row_f64(n, x.data())));
  }
  const Floats large(100, 3e38F);
  CHECK(table.sum_row(100, large.data(), 0) == kInfinity);
  CHECK(table.sum_row_f64(100, large.data()) == 100 * static_cast<double>(3e38F));
}

WAFER_KERNEL_CASE("Sums of rows are chains ascending in the row") {
  WAFER_KERNEL_TABLE();
  Random random(9);
  for (const Index cols : {0, 1, 3, 10, 16, 31, 64, 65, 130}) {
    for (const Index rows : {0, 1, 7, 33}) {
      const Index stride = cols + 2;
      const Floats x = random.floats(std::max<Index>(0, rows * stride - 2));
      for (const bool accumulate : {false, true}) {
        Floats actual = random.floats(cols);
        Floats expected = actual;
        for (Index j = 0; j < cols; ++j) {
          float& sum = expected[static_cast<std::size_t>(j)];
          if (!accumulate) sum = 0;
          for (Index i = 0; i < rows; ++i) sum += x[static_cast<std::size_t>(i * stride + j)];
        }
        table.sum_rows(rows, cols, x.data(), stride, actual.data(), accumulate);
        CHECK(same_bits(actual, expected));
      }
    }
  }
}

WAFER_KERNEL_CASE("argmax is the first greatest, and NaN is greatest") {
  WAFER_KERNEL_TABLE();
  const Floats x = {1,          3,          2,    3,         -9,  //
                    0,          kInfinity,  kNan, kInfinity, kNan, -kInfinity, -kInfinity, -kInfinity,
                    -kInfinity, -kInfinity, -5,   -4,        -3,   -2,         -1};
  std::vector<std::int32_t> y(4);
  table.argmax(4, 5, x.data(), 5, y.data());
  CHECK(y == std::vector<std::int32_t>{1, 2, 0, 4});
  table.argmax(2, 4, x.data(), 10, y.data());
  CHECK(y == std::vector<std::int32_t>{1, 0, 0, 4});
}
