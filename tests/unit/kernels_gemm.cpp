// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "kernels_fixture.hpp"

using namespace wafer_test;

namespace {

struct Shape {
  Index m, n, k;
};

/// A matrix in as few floats as its strides need, so that a sanitizer sees any access beyond.
struct Matrix {
  Floats data;
  Index row, col;
  float at(Index i, Index j) const { return data[static_cast<std::size_t>(i * row + j * col)]; }
};

enum class Layout {
  natural,
  padded,
  transposed,
  padded_transposed,
  strided,
  one_row,
  one_column,
  one_value,
  page_apart,            // rows a page apart
  page_apart_transposed  // columns a page apart
};
constexpr Layout kLayouts[] = {Layout::natural,           Layout::padded,   Layout::transposed,
                               Layout::padded_transposed, Layout::strided,  Layout::one_row,
                               Layout::one_column,        Layout::one_value};

Matrix make(Index rows, Index cols, Layout layout, Random& random) {
  Matrix matrix{{}, 0, 0};
  switch (layout) {
    case Layout::natural: matrix.row = cols, matrix.col = 1; break;
    case Layout::padded: matrix.row = cols + 3, matrix.col = 1; break;
    case Layout::transposed: matrix.row = 1, matrix.col = rows; break;
    case Layout::padded_transposed: matrix.row = 1, matrix.col = rows + 5; break;
    case Layout::strided: matrix.row = 2 * cols + 1, matrix.col = 2; break;
    case Layout::one_row: matrix.row = 0, matrix.col = 1; break;
    case Layout::one_column: matrix.row = 1, matrix.col = 0; break;
    case Layout::one_value: break;
    case Layout::page_apart: matrix.row = (cols + 1023) / 1024 * 1024, matrix.col = 1; break;
    case Layout::page_apart_transposed: matrix.row = 1, matrix.col = std::max<Index>(rows, 1024); break;
  }
  const bool empty = rows == 0 || cols == 0;
  matrix.data = random.floats(empty ? 0 : (rows - 1) * matrix.row + (cols - 1) * matrix.col + 1);
  return matrix;
}

float multiply_add(float a, float b, float c, bool fused) {
  if (fused) return std::fma(a, b, c);
  const float product = a * b;
  return product + c;
}

/// The definition: one chain for each element, ascending in k.
void multiply(const Shape& shape, const Matrix& a, const Matrix& b, Floats& c, Index c_row, bool accumulate,
              bool fused) {
  for (Index i = 0; i < shape.m; ++i) {
    for (Index j = 0; j < shape.n; ++j) {
      float& element = c[static_cast<std::size_t>(i * c_row + j)];
      float sum = accumulate ? element : 0.0F;
      for (Index p = 0; p < shape.k; ++p) sum = multiply_add(a.at(i, p), b.at(p, j), sum, fused);
      element = sum;
    }
  }
}

wafer::kernels::Product product_of(const Shape& shape, const Matrix& a, const Matrix& b, float* c,
                                   Index c_row, Scratch& scratch) {
  wafer::kernels::Product product;
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.a = a.data.data();
  product.a_row = a.row;
  product.a_col = a.col;
  product.b = b.data.data();
  product.b_row = b.row;
  product.b_col = b.col;
  product.c = c;
  product.c_row = c_row;
  product.c_col = 1;
  product.scratch = scratch.data();
  return product;
}

void run(const wafer::kernels::Table& table, const Shape& shape, const Matrix& a, const Matrix& b, float* c,
         Index c_row, bool accumulate) {
  Scratch scratch;
  wafer::kernels::Product product = product_of(shape, a, b, c, c_row, scratch);
  product.accumulate = accumulate;
  table.gemm(product);
}

constexpr Shape kShapes[] = {
    {0, 3, 4},    {3, 0, 4},    {3, 4, 0},    {1, 1, 1},     {1, 17, 5},    {2, 3, 7},
    {5, 1, 64},   {6, 16, 3},   {7, 13, 11},  {12, 32, 65},  {13, 33, 17},  {16, 8, 2},
    {31, 10, 32}, {32, 64, 31}, {61, 47, 23}, {64, 65, 12},  {65, 64, 9},   {49, 31, 5},
    {48, 15, 40}, {37, 97, 19}, {9, 24, 400}, {14, 34, 785}, {100, 7, 101},
};

}  // namespace

WAFER_KERNEL_CASE("A matrix product has the bits of its definition") {
  WAFER_KERNEL_TABLE();
  Random random(1);
  Index wrong = 0;
  for (const Shape& shape : kShapes) {
    for (const Layout a_layout : kLayouts) {
      for (const Layout b_layout : kLayouts) {
        for (const bool accumulate : {false, true}) {
          const Matrix a = make(shape.m, shape.k, a_layout, random);
          const Matrix b = make(shape.k, shape.n, b_layout, random);
          const Index c_row = shape.n + (accumulate ? 2 : 0);
          Floats expected = random.floats(std::max<Index>(0, shape.m * c_row - (c_row - shape.n)));
          Floats actual = expected;  // columns between rows of C must stay as they are
          multiply(shape, a, b, expected, c_row, accumulate, wafer::kernels::fuses(kTarget));
          run(table, shape, a, b, actual.data(), c_row, accumulate);
          if (!same_bits(actual, expected)) ++wrong;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

WAFER_KERNEL_CASE("A matrix product has those bits where rows are copied first, and where C is large") {
  WAFER_KERNEL_TABLE();
  Random random(6);
  for (const Shape& shape :
       {Shape{1, 128, 3}, Shape{5, 128, 4}, Shape{6, 128, 2}, Shape{7, 129, 1}, Shape{25, 131, 19},
        Shape{26, 140, 531}, Shape{241, 128, 5}, Shape{390, 200, 17}}) {
    for (const Layout a_layout :
         {Layout::natural, Layout::padded, Layout::transposed, Layout::strided, Layout::one_row,
          Layout::one_column, Layout::page_apart, Layout::page_apart_transposed}) {
      const Matrix a = make(shape.m, shape.k, a_layout, random);
      const Matrix b =
          make(shape.k, shape.n, shape.k % 2 == 0 ? Layout::transposed : Layout::natural, random);
      Floats expected = random.floats(shape.m * shape.n);
      Floats actual = expected;
      multiply(shape, a, b, expected, shape.n, true, wafer::kernels::fuses(kTarget));
      run(table, shape, a, b, actual.data(), shape.n, true);
      CHECK(same_bits(actual, expected));
    }
  }
}

WAFER_KERNEL_CASE("A matrix product may be cut anywhere without a change of bits") {
  WAFER_KERNEL_TABLE();
  Random random(2);
  const Shape whole{29, 70, 150};
  const Matrix a = make(whole.m, whole.k, Layout::natural, random);
  const Matrix b = make(whole.k, whole.n, Layout::transposed, random);
  Floats expected(static_cast<std::size_t>(whole.m * whole.n));
  run(table, whole, a, b, expected.data(), whole.n, false);
  Scratch scratch;
  for (const Index cut : {1, 10, 16, 28}) {
    Floats rows(expected.size()), columns(expected.size()), depth(expected.size());
    const auto part = [&](Index i, Index m, Index j, Index n, Index p, Index k, Floats& c, bool accumulate) {
      wafer::kernels::Product product =
          product_of({m, n, k}, a, b, c.data() + i * whole.n + j, whole.n, scratch);
      product.a += i * a.row + p * a.col;
      product.b += p * b.row + j * b.col;
      product.accumulate = accumulate;
      table.gemm(product);
    };
    part(0, cut, 0, whole.n, 0, whole.k, rows, false);
    part(cut, whole.m - cut, 0, whole.n, 0, whole.k, rows, false);
    part(0, whole.m, 0, cut, 0, whole.k, columns, false);
    part(0, whole.m, cut, whole.n - cut, 0, whole.k, columns, false);
    part(0, whole.m, 0, whole.n, 0, cut, depth, false);
    part(0, whole.m, 0, whole.n, cut, whole.k - cut, depth, true);
    CHECK(same_bits(rows, expected));
    CHECK(same_bits(columns, expected));
    CHECK(same_bits(depth, expected));
  }
}

WAFER_KERNEL_CASE("A tail sees each piece of a product once, complete, and columns from the top") {
  WAFER_KERNEL_TABLE();
  Random random(5);
  for (const Shape& shape : kShapes) {
    const Matrix a = make(shape.m, shape.k, Layout::natural, random);
    const Matrix b = make(shape.k, shape.n, Layout::natural, random);
    Floats expected(static_cast<std::size_t>(shape.m * shape.n)), c(expected.size());
    run(table, shape, a, b, expected.data(), shape.n, false);
    struct Watch {
      const Shape& shape;
      const Floats &expected, &c;
      std::vector<Index> seen;  // rows of each column
      Index wrong = 0;
    } watch{shape, expected, c, std::vector<Index>(static_cast<std::size_t>(shape.n)), 0};
    const wafer::Tail tail{[](void* self, Index row, Index rows, Index col, Index cols) {
                             Watch& w = *static_cast<Watch*>(self);
                             for (Index j = col; j < col + cols; ++j) {
                               Index& seen = w.seen.at(static_cast<std::size_t>(j));
                               w.wrong += seen != row;
                               seen = row + rows;
                               for (Index i = row; i < row + rows; ++i) {
                                 const auto at = static_cast<std::size_t>(i * w.shape.n + j);
                                 w.wrong += !same_bits(w.c.at(at), w.expected.at(at));
                               }
                             }
                           },
                           &watch};
    Scratch scratch;
    wafer::kernels::Product product = product_of(shape, a, b, c.data(), shape.n, scratch);
    product.tail = &tail;
    table.gemm(product);
    CHECK(watch.wrong == 0);
    CHECK(watch.seen == std::vector<Index>(static_cast<std::size_t>(shape.n), shape.m));
  }
}

WAFER_KERNEL_CASE("A matrix product of known numbers") {
  WAFER_KERNEL_TABLE();
  const Matrix a{{1, 2, 3, 4, 5, 6}, 3, 1};
  const Matrix b{{7, 8, 9, 10, 11, 12}, 2, 1};
  Floats c(4, 100);
  run(table, {2, 2, 3}, a, b, c.data(), 2, false);
  CHECK(c == Floats{58, 64, 139, 154});
  run(table, {2, 2, 3}, a, b, c.data(), 2, true);
  CHECK(c == Floats{116, 128, 278, 308});
  run(table, {2, 2, 0}, a, b, c.data(), 2, true);
  CHECK(c == Floats{116, 128, 278, 308});
  run(table, {2, 2, 0}, a, b, c.data(), 2, false);
  CHECK(c == Floats{0, 0, 0, 0});
}

WAFER_KERNEL_CASE("A matrix product keeps NaN and infinity in their row and column") {
  WAFER_KERNEL_TABLE();
  Random random(3);
  const Shape shape{20, 40, 30};
  Matrix a = make(shape.m, shape.k, Layout::natural, random);
  Matrix b = make(shape.k, shape.n, Layout::natural, random);
  a.data[static_cast<std::size_t>(3 * shape.k + 4)] = kNan;
  b.data[static_cast<std::size_t>(5 * shape.n + 39)] = kInfinity;
  Floats c(static_cast<std::size_t>(shape.m * shape.n));
  run(table, shape, a, b, c.data(), shape.n, false);
  for (Index i = 0; i < shape.m; ++i) {
    for (Index j = 0; j < shape.n; ++j) {
      const float value = c[static_cast<std::size_t>(i * shape.n + j)];
      if (i == 3) {
        CHECK(std::isnan(value));
      } else {
        CHECK(std::isinf(value) == (j == 39));
      }
    }
  }
}
