// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/layout.hpp>
#include <wafer/error.hpp>

#include "catch.hpp"
#include "runtime/boxes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

using namespace wafer;

namespace {

using Floats = std::vector<float>;

/// Storage of a matrix, and where an element lies in it: by the definition of panels.
struct Stored {
  Index rows, cols;
  int panelled;
  std::size_t at(Index i, Index j) const {
    const Index of = panelled == 0 ? i : j, other = panelled == 0 ? j : i;
    const Index across = panelled == 0 ? cols : rows;
    if (panelled < 0) return static_cast<std::size_t>(i * cols + j);
    return static_cast<std::size_t>(of / 32 * 32 * across + other * 32 + of % 32);
  }
  std::size_t elements() const {
    if (panelled < 0) return static_cast<std::size_t>(rows * cols);
    const Index of = panelled == 0 ? rows : cols, across = panelled == 0 ? cols : rows;
    return static_cast<std::size_t>((of + 31) / 32 * 32 * across);
  }
};

StridedBox memory_of(const Stored& stored, Floats& floats, Index row = 0, Index col = 0) {
  const std::array<Index, 2> extents{stored.rows, stored.cols};
  const Storage storage = lay_out(extents, stored.panelled, 0);
  StridedBox out;
  out.data = reinterpret_cast<std::byte*>(floats.data() + stored.at(row, col));
  std::copy(storage.strides.begin(), storage.strides.end(), out.stride.begin());
  return out;
}

constexpr float kUntouched = -1;

// Copies rows and columns of one storage into another; whether exactly those arrived.
bool copies(const Stored& from, const Stored& to, Range rows, Range cols) {
  Floats source(from.elements(), 0.5F), target(to.elements(), kUntouched), expected = target;
  for (Index i = 0; i < from.rows; ++i) {
    for (Index j = 0; j < from.cols; ++j) source[from.at(i, j)] = static_cast<float>(i * from.cols + j);
  }
  for (Index i = rows.begin; i < rows.end; ++i) {
    for (Index j = cols.begin; j < cols.end; ++j)
      expected[to.at(i, j)] = static_cast<float>(i * from.cols + j);
  }
  Box box;
  box.rank = 2;
  box.range[0] = rows;
  box.range[1] = cols;
  const bool empty = rows.size() == 0 || cols.size() == 0;
  const Index row = empty ? 0 : rows.begin, col = empty ? 0 : cols.begin;
  const Index bytes =
      copy_box(box, sizeof(float), memory_of(from, source, row, col), memory_of(to, target, row, col));
  return bytes == rows.size() * cols.size() * 4 && target == expected;
}

}  // namespace

TEST_CASE("a matrix is copied into, out of and between panels") {
  for (const Index rows : {1, 32, 33, 64, 70}) {
    for (const Index cols : {1, 31, 32, 65, 96}) {
      for (const int from : {-1, 0, 1}) {
        for (const int to : {-1, 0, 1}) {
          INFO(rows << " x " << cols << ", from " << from << " to " << to);
          CHECK(copies({rows, cols, from}, {rows, cols, to}, {0, rows}, {0, cols}));
        }
      }
    }
  }
}

TEST_CASE("a part that begins with a panel is copied likewise") {
  for (const int from : {-1, 0, 1}) {
    for (const int to : {-1, 0, 1}) {
      INFO("from " << from << " to " << to);
      CHECK(copies({100, 130, from}, {100, 130, to}, {64, 100}, {32, 97}));
      CHECK(copies({100, 130, from}, {100, 130, to}, {32, 64}, {128, 129}));
      CHECK(copies({100, 130, from}, {100, 130, to}, {64, 64}, {0, 130}));
    }
  }
}

TEST_CASE("where the elements of a matrix in panels lie") {
  struct Expected {
    Index extent, elements;
    bool plain;
  };
  // Five of the other dimension: a panel is 160 elements.
  for (const Expected& e :
       {Expected{0, 0, true}, Expected{1, 160, true}, Expected{31, 160, true}, Expected{32, 160, true},
        Expected{33, 320, false}, Expected{64, 320, false}, Expected{65, 480, false}}) {
    for (const std::size_t dim : {std::size_t{0}, std::size_t{1}}) {
      std::array<Index, 2> extents{5, 5};
      extents[dim] = e.extent;
      const Storage storage = lay_out(extents, static_cast<int>(dim), 0);
      INFO("extent " << e.extent << " of dimension " << dim);
      REQUIRE(storage.strides.size() == 2);
      CHECK(storage.elements == e.elements);
      CHECK(storage.strides[dim].next == 1);
      CHECK(storage.strides[dim].plain() == e.plain);
      if (!e.plain) CHECK(storage.strides[dim].panel == 160);
      CHECK(storage.strides[1 - dim].next == 32);
      CHECK(storage.strides[1 - dim].plain());
    }
  }
}

TEST_CASE("without panels elements lie row-major, one behind the other") {
  const std::array<Index, 3> extents{4, 5, 6};
  const Storage storage = lay_out(extents, -1, 0);
  CHECK(storage.elements == 120);
  REQUIRE(storage.strides.size() == 3);
  const Index expected[] = {30, 6, 1};
  for (std::size_t d = 0; d < 3; ++d) {
    CHECK(storage.strides[d].next == expected[d]);
    CHECK(storage.strides[d].plain());
  }
  CHECK(lay_out({}, -1, 0).elements == 1);
  const std::array<Index, 2> none{3, 0};
  CHECK(lay_out(none, -1, 0).elements == 0);
}

TEST_CASE("every element of a matrix in panels has a place of its own") {
  for (const int dim : {0, 1}) {
    const std::array<Index, 2> extents{70, 45};
    const Storage storage = lay_out(extents, dim, 0);
    std::vector<int> taken(static_cast<std::size_t>(storage.elements));
    for (Index i = 0; i < 70; ++i) {
      for (Index j = 0; j < 45; ++j) {
        const Index at = storage.strides[0].at(i) + storage.strides[1].at(j);
        CHECK(at == static_cast<Index>(Stored{70, 45, dim}.at(i, j)));
        ++taken.at(static_cast<std::size_t>(at));
      }
    }
    CHECK(std::count(taken.begin(), taken.end(), 1) == 70 * 45);
  }
}

TEST_CASE("a matrix whose elements cannot be counted is refused") {
  const Index many = Index{1} << 32;
  const std::array<Index, 2> square{many, many};
  const std::array<Index, 2> wide{Index{1} << 58, 33};
  for (const int dim : {-1, 0, 1}) CHECK_THROWS_AS(lay_out(square, dim, 0), UserError);
  CHECK_THROWS_AS(lay_out(wide, 1, 0), UserError);
  const std::array<Index, 2> long_rows{1, Index{1} << 60};  // a panel of them cannot be
  CHECK_THROWS_AS(lay_out(long_rows, -1, 0), UserError);
  const std::array<Index, 2> greatest{2, (Index{1} << 62) + ((Index{1} << 62) - 1)};
  CHECK_THROWS_AS(lay_out(greatest, 1, 0), UserError);
}
