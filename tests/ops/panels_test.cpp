// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// The products' kernels on tiles of matrices in panels.
#include <wafer/core/range.hpp>
#include <wafer/ops/matmul.hpp>
#include <wafer/ops/sum_all.hpp>
#include <wafer/ops/sum_squares.hpp>

#include "../unit/kernels_fixture.hpp"

#include <array>
#include <optional>
#include <vector>

using namespace wafer;
using wafer_test::Floats;
using wafer_test::same_bits;

namespace {

/// A matrix, in panels along a dimension or row-major, of which products see pieces.
struct Matrix {
  Index rows, cols;
  int panelled = -1;
  Floats memory;

  Matrix(Index row_count, Index col_count, int dim, wafer_test::Random& random)
      : rows(row_count), cols(col_count), panelled(dim) {
    const Index of = dim == 0 ? rows : cols, across = dim == 0 ? cols : rows;
    memory = random.floats(dim < 0 ? rows * cols : (of + 31) / 32 * 32 * across);
  }
  std::size_t at(Index i, Index j) const {
    if (panelled < 0) return static_cast<std::size_t>(i * cols + j);
    const Index of = panelled == 0 ? i : j, other = panelled == 0 ? j : i;
    return static_cast<std::size_t>(of / 32 * 32 * (panelled == 0 ? cols : rows) + other * 32 + of % 32);
  }
  float& operator()(Index i, Index j) { return memory[at(i, j)]; }
  float operator()(Index i, Index j) const { return memory[at(i, j)]; }

  /// As a session makes it: a tile of one panel alone is a plain one.
  Tile tile(Range of_rows, Range of_cols) const {
    Tile t;
    t.data = const_cast<float*>(memory.data() + at(of_rows.begin, of_cols.begin));
    t.rank = 2;
    t.extent = {of_rows.size(), of_cols.size()};
    t.origin = {of_rows.begin, of_cols.begin};
    t.shape = {rows, cols};
    t.stride = {panelled == 0 ? 1 : panelled == 1 ? 32 : cols, panelled == 0 ? 32 : 1};
    const Index across = panelled == 0 ? cols : rows;
    if (panelled < 0 || across == 1 || t.extent[static_cast<std::size_t>(panelled)] <= kPanel) return t;
    t.panelled = panelled;
    t.panel = 32 * across;
    return t;
  }
  Tile tile() const { return tile({0, rows}, {0, cols}); }
};

Matrix transpose(const Matrix& x, wafer_test::Random& random) {
  Matrix out(x.cols, x.rows, -1, random);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < x.cols; ++j) out(j, i) = x(i, j);
  }
  return out;
}

/// C(rows, cols) (+)= A · B by the definition.
void multiply(const Matrix& a, const Matrix& b, Matrix& c, Range rows, Range cols, bool accumulate,
              KernelTarget target) {
  for (Index i = rows.begin; i < rows.end; ++i) {
    for (Index j = cols.begin; j < cols.end; ++j) {
      float sum = accumulate ? c(i, j) : 0.0F;
      for (Index p = 0; p < a.cols; ++p) {
        const float product = a(i, p) * b(p, j);
        sum = kernels::fuses(target) ? std::fma(a(i, p), b(p, j), sum) : sum + product;
      }
      c(i, j) = sum;
    }
  }
}

/// Holds what a tail sees against the complete result.
struct Watch {
  const Matrix &c, &expected;
  Range rows, cols;
  std::vector<Index> seen = std::vector<Index>(static_cast<std::size_t>(cols.size()));  // rows of each column
  Index wrong = 0, torn = 0;
  Tail tail;

  Watch(const Matrix& of, const Matrix& complete, Range of_rows, Range of_cols)
      : c(of), expected(complete), rows(of_rows), cols(of_cols) {
    tail.self = this;
    tail.run = [](void* self, Index row, Index count, Index col, Index col_count) {
      static_cast<Watch*>(self)->see(row, count, col, col_count);
    };
  }
  void see(Index row, Index count, Index col, Index col_count) {
    if (c.panelled == 0) torn += row / 32 != (row + count - 1) / 32;
    if (c.panelled == 1) torn += col / 32 != (col + col_count - 1) / 32;
    for (Index j = col; j < col + col_count; ++j) {
      Index& done = seen.at(static_cast<std::size_t>(j));
      wrong += done != row;
      done = row + count;
      for (Index i = row; i < row + count; ++i)
        wrong += !same_bits(c(rows.begin + i, cols.begin + j), expected(rows.begin + i, cols.begin + j));
    }
  }
  bool good() const {
    return wrong == 0 && torn == 0 && seen == std::vector<Index>(seen.size(), rows.size());
  }
};

/// Runs the best kernel of an op, or its reference, with a tail where it runs one.
template <class T>
void run(const T& op, bool reference, KernelTarget target, const std::vector<Tile>& in, const Tile& out,
         bool accumulate, const Tail* tail) {
  struct alignas(64) Line {
    float floats[16];
  };
  std::vector<Line> scratch(static_cast<std::size_t>(kernels::kGemmScratchBytes) / sizeof(Line));
  Context context;
  context.target = target;
  context.accumulate = accumulate;
  context.scratch = scratch.data();
  context.scratch_bytes = kernels::kGemmScratchBytes;
  if (reference) return op.run(context, in, Tiles(&out, 1));
  context.tail = tail;
  Types types;
  for (const Tile& tile : in)
    types.push_back({DType::f32, Shape(std::span<const Index>(tile.shape.data(), std::size_t(tile.rank)))});
  const Kernels kernels = op.kernels(types);
  REQUIRE(kernels.at(0).takes_panels == 0b110);
  REQUIRE(kernels.at(0).runs_tail);
  kernels[0].run(&op, context, in, Tiles(&out, 1));
}

struct Piece {
  Range rows, cols;
};

}  // namespace

WAFER_KERNEL_CASE("products read a second matrix in panels, and write a result in panels, also a piece") {
  if (!kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(name_of(kTarget)));
  wafer_test::Random random(21);
  const Index m = 97, n = 65, k = 70;
  const Piece pieces[] = {{{0, m}, {0, n}},   {{32, m}, {0, n}},  {{0, m}, {64, 65}},
                          {{96, 97}, {0, n}}, {{0, m}, {32, 64}}, {{96, 97}, {64, 65}}};
  struct Panels {
    int b, c;
  };
  for (const Panels panels : {Panels{0, -1}, Panels{1, -1}, Panels{-1, 0}, Panels{-1, 1}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const bool accumulate : {false, true}) {
          for (const Piece& piece : pieces) {
            // Tiles that cut a matrix in panels begin with one.
            const Matrix a(m, k, -1, random), b(k, n, transpose_b ? -1 : panels.b, random);
            const Matrix stored_a = transpose(a, random);
            Matrix stored_b(n, k, panels.b, random);
            for (Index j = 0; j < n; ++j) {
              for (Index p = 0; p < k; ++p) stored_b(j, p) = b(p, j);
            }
            Matrix expected(m, n, panels.c, random);
            multiply(a, b, expected, piece.rows, piece.cols, false, kTarget);
            for (const bool reference : {false, true}) {
              Matrix c = expected, complete = expected;
              if (accumulate) {
                multiply(a, b, complete, piece.rows, piece.cols, true, kTarget);
              } else {
                for (Index i = piece.rows.begin; i < piece.rows.end; ++i) {
                  for (Index j = piece.cols.begin; j < piece.cols.end; ++j) c(i, j) = 77;
                }
              }
              Watch watch(c, complete, piece.rows, piece.cols);
              const Range inner{0, k};
              run(Matmul{transpose_a, transpose_b}, reference, kTarget,
                  {transpose_a ? stored_a.tile(inner, piece.rows) : a.tile(piece.rows, inner),
                   transpose_b ? stored_b.tile(piece.cols, inner) : b.tile(inner, piece.cols)},
                  c.tile(piece.rows, piece.cols), accumulate, &watch.tail);
              INFO("B " << panels.b << ", C " << panels.c << ", transposed " << transpose_a << transpose_b
                        << ", accumulate " << accumulate << ", reference " << reference << ", rows "
                        << piece.rows.begin << " to " << piece.rows.end << ", columns " << piece.cols.begin
                        << " to " << piece.cols.end);
              CHECK(same_bits(c.memory, complete.memory));
              if (!reference) CHECK(watch.good());
            }
          }
        }
      }
    }
  }
}

WAFER_KERNEL_CASE("products of rows do so too") {
  if (!kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(name_of(kTarget)));
  wafer_test::Random random(22);
  const Index m = 70, n = 65, k = 300;
  struct Panels {
    int b, c;
  };
  for (const Panels panels : {Panels{0, -1}, Panels{1, -1}, Panels{-1, 0}, Panels{-1, 1}}) {
    for (const bool accumulate : {false, true}) {
      for (const bool reference : {false, true}) {
        const Matrix rows(k, m, -1, random), b(k, n, panels.b, random);
        const Matrix a = transpose(rows, random);
        Matrix c(m, n, panels.c, random);
        Matrix expected = c;
        multiply(a, b, expected, {0, m}, {0, n}, accumulate, kTarget);
        Watch watch(c, expected, {0, m}, {0, n});
        run(RowProduct{}, reference, kTarget, {rows.tile(), b.tile()}, c.tile(), accumulate, &watch.tail);
        INFO("B " << panels.b << ", C " << panels.c << ", accumulate " << accumulate << ", reference "
                  << reference);
        CHECK(same_bits(c.memory, expected.memory));
        if (!reference) CHECK(watch.good());
      }
    }
  }
}

WAFER_KERNEL_CASE("rows in several groups, which are not one distance apart, add up in a result in panels") {
  if (!kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(name_of(kTarget)));
  wafer_test::Random random(23);
  // Three groups of four rows, with a row between each two groups that is none of them.
  const Index groups = 3, each = 4, m = 70, n = 66;
  const auto in_groups = [&](const Matrix& x) {
    Tile t;
    t.data = const_cast<float*>(x.memory.data());
    t.rank = 3;
    t.extent = t.shape = {groups, each, x.cols};
    t.stride = {(each + 1) * x.cols, x.cols, 1};
    return t;
  };
  for (const int panelled : {0, 1}) {
    for (const bool accumulate : {false, true}) {
      for (const bool reference : {false, true}) {
        const Matrix x(groups * (each + 1), m, -1, random), y(groups * (each + 1), n, -1, random);
        Matrix a(m, groups * each, -1, random), b(groups * each, n, -1, random);
        for (Index p = 0; p < groups * each; ++p) {
          for (Index i = 0; i < m; ++i) a(i, p) = x(p + p / each, i);
          for (Index j = 0; j < n; ++j) b(p, j) = y(p + p / each, j);
        }
        Matrix c(m, n, panelled, random);
        Matrix expected = c;
        multiply(a, b, expected, {0, m}, {0, n}, accumulate, kTarget);
        Watch watch(c, expected, {0, m}, {0, n});
        run(RowProduct{}, reference, kTarget, {in_groups(x), in_groups(y)}, c.tile(), accumulate,
            &watch.tail);
        INFO("C " << panelled << ", accumulate " << accumulate << ", reference " << reference);
        CHECK(same_bits(c.memory, expected.memory));
        if (!reference) CHECK(watch.good());
      }
    }
  }
}

WAFER_KERNEL_CASE("sums to a scalar take the rows of a matrix in panels in order") {
  if (!kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(name_of(kTarget)));
  wafer_test::Random random(25);
  const auto total_of = [](const auto& op, const Tile& tile, std::optional<double> start) {
    const TensorType type{DType::f32, Shape{tile.shape[0], tile.shape[1]}};
    const Kernel kernel = op.kernels({type}).at(0);
    REQUIRE(kernel.takes_panels == 0b1);
    Floats scratch(static_cast<std::size_t>(kernel.scratch_bytes) / sizeof(float));
    Context context;
    context.target = kTarget;
    context.accumulate = start.has_value();
    context.scratch = scratch.data();
    double total = start.value_or(77);
    Tile out;
    out.data = &total;
    out.dtype = DType::f64;
    kernel.run(&op, context, Tiles(&tile, 1), Tiles(&out, 1));
    return total;
  };
  for (const Index rows : {1, 31, 32, 33, 97}) {
    for (const Index cols : {1, 16, 32, 65, 130}) {
      for (const int panelled : {0, 1}) {
        const Matrix x(rows, cols, panelled, random);
        Matrix plain(rows, cols, -1, random);
        for (Index i = 0; i < rows; ++i) {
          for (Index j = 0; j < cols; ++j) plain(i, j) = x(i, j);
        }
        for (const std::optional<double> start : {std::optional<double>(), std::optional<double>(0.1)}) {
          INFO(rows << " x " << cols << ", panels of dimension " << panelled);
          CHECK(same_bits(total_of(SumSquares{}, x.tile(), start),
                          total_of(SumSquares{}, plain.tile(), start)));
          CHECK(same_bits(total_of(SumAll{}, x.tile(), start), total_of(SumAll{}, plain.tile(), start)));
        }
      }
    }
  }
}

WAFER_KERNEL_CASE("a product of no rows is zeros in panels, of which a tail sees each") {
  if (!kernels::supports(kTarget)) WAFER_NOT_RUN("no " + std::string(name_of(kTarget)));
  wafer_test::Random random(24);
  for (const int panelled : {0, 1}) {
    const Matrix rows(0, 40, -1, random), b(0, 70, -1, random);
    Matrix c(40, 70, panelled, random);
    Matrix expected = c;
    for (Index i = 0; i < 40; ++i) {
      for (Index j = 0; j < 70; ++j) expected(i, j) = 0;
    }
    Watch watch(c, expected, {0, 40}, {0, 70});
    run(RowProduct{}, false, kTarget, {rows.tile(), b.tile()}, c.tile(), false, &watch.tail);
    CHECK(same_bits(c.memory, expected.memory));
    CHECK(watch.good());
  }
}
