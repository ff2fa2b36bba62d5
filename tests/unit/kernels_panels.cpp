// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices in panels: the second one's columns or rows, or the result's columns.
#include <algorithm>
#include <vector>

#include "kernels_fixture.hpp"

using namespace wafer_test;
using wafer::kPanel;
using wafer::Stride;

namespace {

struct Shape {
  Index m, n, k;
};

enum class Stored { plain, column_panels, row_panels };

/// A matrix with memory between rows, and behind the last panel, that is no element: NaN in what is read.
struct Matrix {
  Index rows, cols;
  Stride row, col;
  Floats memory;
  Index at(Index i, Index j) const {  // by the definition of panels, not by Stride::at
    const auto along = [](const Stride& s, Index k) { return k / kPanel * s.panel + k % kPanel * s.next; };
    return along(row, i) + along(col, j);
  }
  float& operator()(Index i, Index j) { return memory[static_cast<std::size_t>(at(i, j))]; }
  float operator()(Index i, Index j) const { return memory[static_cast<std::size_t>(at(i, j))]; }
};

Matrix make(Index rows, Index cols, Stored stored, Random& random) {
  constexpr Index kGap = 3;  // rows of the whole that a tile leaves out
  Matrix out{rows, cols, {}, {}, {}};
  Index size = 0;
  switch (stored) {
    case Stored::plain:
      out.row = cols + kGap, out.col = 1;
      size = rows * (cols + kGap);
      break;
    case Stored::column_panels:
      out.row = kPanel, out.col = Stride(1, kPanel * (rows + kGap));
      size = (cols + kPanel - 1) / kPanel * kPanel * (rows + kGap);
      break;
    case Stored::row_panels:
      out.row = Stride(1, kPanel * (cols + kGap)), out.col = kPanel;
      size = (rows + kPanel - 1) / kPanel * kPanel * (cols + kGap);
      break;
  }
  out.memory.assign(static_cast<std::size_t>(size), kNan);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) out(i, j) = random.uniform(-1, 1);
  }
  return out;
}

/// The definition: one chain for each element, ascending in k.
void multiply(const Matrix& a, const Matrix& b, Matrix& c, bool accumulate, bool fused) {
  for (Index i = 0; i < c.rows; ++i) {
    for (Index j = 0; j < c.cols; ++j) {
      float sum = accumulate ? c(i, j) : 0.0F;
      for (Index p = 0; p < a.cols; ++p) {
        const float product = a(i, p) * b(p, j);
        sum = fused ? std::fma(a(i, p), b(p, j), sum) : sum + product;
      }
      c(i, j) = sum;
    }
  }
}

void run(const wafer::kernels::Table& table, const Matrix& a, const Matrix& b, Matrix& c, bool accumulate,
         const wafer::Tail* tail = nullptr) {
  Scratch scratch;
  wafer::kernels::Product product;
  product.m = c.rows;
  product.n = c.cols;
  product.k = a.cols;
  product.a = a.memory.data();
  product.a_row = a.row;
  product.a_col = a.col;
  product.b = b.memory.data();
  product.b_row = b.row;
  product.b_col = b.col;
  product.c = c.memory.data();
  product.c_row = c.row;
  product.c_col = c.col;
  product.accumulate = accumulate;
  product.scratch = scratch.data();
  product.tail = tail;
  table.gemm(product);
}

struct Case {
  Stored b, c;
};
constexpr Case kCases[] = {{Stored::column_panels, Stored::plain},
                           {Stored::row_panels, Stored::plain},
                           {Stored::plain, Stored::column_panels}};

// Last panels of 1, 31 and 32 columns and between; sums within a panel, of several, and cut into chunks
// (rows of B in panels: at 256 and beyond); tiles of a row, and blocks of more than 384.
constexpr Shape kShapes[] = {
    {0, 40, 5},     {4, 0, 40},    {4, 40, 0},     {1, 33, 33},   {2, 64, 31},    {3, 95, 64},
    {7, 128, 97},   {17, 200, 40}, {33, 63, 100},  {50, 97, 257}, {64, 129, 264}, {100, 34, 288},
    {13, 160, 512}, {5, 65, 784},  {25, 100, 800}, {400, 65, 70}, {401, 33, 300},
};

}  // namespace

WAFER_KERNEL_CASE("A product of panels has the bits of its definition, and leaves all other memory alone") {
  WAFER_KERNEL_TABLE();
  Random random(11);
  for (const Shape& shape : kShapes) {
    for (const Case& stored : kCases) {
      for (const bool accumulate : {false, true}) {
        const Matrix a = make(shape.m, shape.k, Stored::plain, random);
        const Matrix b = make(shape.k, shape.n, stored.b, random);
        Matrix expected = make(shape.m, shape.n, stored.c, random);
        // What is no element has a value of its own each, which must stay.
        for (float& value : expected.memory) value = std::isnan(value) ? random.uniform(1, 2) : value;
        Matrix c = expected;
        multiply(a, b, expected, accumulate, wafer::kernels::fuses(kTarget));
        run(table, a, b, c, accumulate);
        INFO(shape.m << " x " << shape.n << ", sums of " << shape.k << ", accumulate " << accumulate
                     << ", B stored " << static_cast<int>(stored.b));
        CHECK(same_bits(c.memory, expected.memory));
      }
    }
  }
}

WAFER_KERNEL_CASE("A product whose A is stored transposed, or has one row, writes panels all the same") {
  WAFER_KERNEL_TABLE();
  Random random(12);
  for (const Shape& shape : {Shape{784, 130, 9}, Shape{96, 200, 128}, Shape{1, 70, 300}}) {
    const Matrix stored = make(shape.k, shape.m, Stored::plain, random);
    const Matrix a{shape.m, shape.k, stored.col, stored.row, stored.memory};
    const Matrix b = make(shape.k, shape.n, Stored::plain, random);
    Matrix expected = make(shape.m, shape.n, Stored::column_panels, random);
    Matrix c = expected;
    multiply(a, b, expected, true, wafer::kernels::fuses(kTarget));
    run(table, a, b, c, true);
    CHECK(same_bits(c.memory, expected.memory));
  }
}

WAFER_KERNEL_CASE("A product of panels of known numbers") {
  WAFER_KERNEL_TABLE();
  // A is a row of ones, and B(p, j) is 100 p + j: a column's sum over p < k is 100 k (k - 1) / 2 + k j.
  const Index n = 70, k = 40;
  for (const Case& stored : kCases) {
    Random random(13);
    Matrix a = make(1, k, Stored::plain, random);
    Matrix b = make(k, n, stored.b, random);
    Matrix c = make(1, n, stored.c, random);
    for (Index p = 0; p < k; ++p) {
      a(0, p) = 1;
      for (Index j = 0; j < n; ++j) b(p, j) = static_cast<float>(100 * p + j);
    }
    run(table, a, b, c, false);
    Index wrong = 0;
    for (Index j = 0; j < n; ++j) wrong += c(0, j) != static_cast<float>(100 * k * (k - 1) / 2 + k * j);
    CHECK(wrong == 0);
  }
}

WAFER_KERNEL_CASE("A tail sees pieces within one panel, each element once and complete, rows ascending") {
  WAFER_KERNEL_TABLE();
  Random random(14);
  for (const Shape& shape : kShapes) {
    for (const bool accumulate : {false, true}) {
      const Matrix a = make(shape.m, shape.k, Stored::plain, random);
      const Matrix b = make(shape.k, shape.n, Stored::plain, random);
      Matrix expected = make(shape.m, shape.n, Stored::column_panels, random);
      Matrix c = expected;
      multiply(a, b, expected, accumulate, wafer::kernels::fuses(kTarget));
      struct Watch {
        const Matrix &expected, &c;
        std::vector<Index> seen;  // rows of each column
        Index wrong = 0, torn = 0;
      } watch{expected, c, std::vector<Index>(static_cast<std::size_t>(shape.n)), 0, 0};
      wafer::Tail tail;
      tail.self = &watch;
      tail.run = [](void* self, Index row, Index rows, Index col, Index cols) {
        Watch& w = *static_cast<Watch*>(self);
        w.torn += cols > 0 && col / kPanel != (col + cols - 1) / kPanel;
        for (Index j = col; j < col + cols; ++j) {
          Index& seen = w.seen.at(static_cast<std::size_t>(j));
          w.wrong += seen != row;
          seen = row + rows;
          for (Index i = row; i < row + rows; ++i) w.wrong += !same_bits(w.c(i, j), w.expected(i, j));
        }
      };
      run(table, a, b, c, accumulate, &tail);
      INFO(shape.m << " x " << shape.n << ", sums of " << shape.k << ", accumulate " << accumulate);
      CHECK(watch.torn == 0);
      CHECK(watch.wrong == 0);
      // Nothing is called for an empty result.
      const Index all = shape.n > 0 ? shape.m : 0;
      CHECK(watch.seen == std::vector<Index>(static_cast<std::size_t>(shape.n), all));
    }
  }
}

WAFER_KERNEL_CASE("What a tail reads beside a product of panels may be in panels, and is not written") {
  WAFER_KERNEL_TABLE();
  Random random(15);
  const Matrix a = make(100, 90, Stored::plain, random);
  const Matrix b = make(90, 130, Stored::plain, random);
  const Matrix beside = make(100, 130, Stored::column_panels, random);
  Matrix expected = make(100, 130, Stored::column_panels, random);
  Matrix c = expected;
  multiply(a, b, expected, false, wafer::kernels::fuses(kTarget));
  Index elements = 0;
  wafer::Tail tail;
  tail.self = &elements;
  tail.run = [](void* self, Index, Index rows, Index, Index cols) {
    *static_cast<Index*>(self) += rows * cols;
  };
  const auto bytes = [](const Stride& s) { return Stride(4 * s.next, 4 * s.panel); };
  tail.stream_count = 1;
  tail.streams[0] = {reinterpret_cast<const std::byte*>(beside.memory.data()), bytes(beside.row),
                     bytes(beside.col)};
  const Floats before = beside.memory;
  run(table, a, b, c, false, &tail);
  CHECK(elements == 100 * 130);
  CHECK(same_bits(c.memory, expected.memory));
  CHECK(same_bits(beside.memory, before));
}
