// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include <cmath>

#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::check_op;
using wafer::testing::Example;

namespace {

struct Sizes {
  Index m, k, n;
};
constexpr Sizes kSizes[] = {{1, 1, 1}, {2, 3, 4}, {7, 13, 5},  {17, 64, 33}, {3, 0, 4},
                            {0, 3, 2}, {3, 2, 0}, {1, 300, 2}, {65, 5, 31}};

Shape with(std::initializer_list<Index> leading, Index rows, Index columns) {
  std::vector<Index> extents(leading);
  extents.push_back(rows);
  extents.push_back(columns);
  return Shape(extents);
}

Shape stored(std::initializer_list<Index> leading, bool transposed, Index rows, Index columns) {
  return transposed ? with(leading, columns, rows) : with(leading, rows, columns);
}

}  // namespace

TEST_CASE("products of matrices have values known by hand") {
  Fixture f;
  const Tensor a = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = f({3, 2}, {7, 8, 9, 10, 11, 12});
  const Floats product{58, 64, 139, 154};
  CHECK(f.floats(matmul(a, b)) == product);
  CHECK(f.floats(apply(Matmul{true, false}, {transpose(a), b})[0]) == product);
  CHECK(f.floats(apply(Matmul{false, true}, {a, transpose(b)})[0]) == product);
  CHECK(f.floats(apply(Matmul{true, true}, {transpose(a), transpose(b)})[0]) == product);
}

TEST_CASE("a matrix serves all leading dimensions, or each has its own") {
  Fixture f;
  const Tensor a = f({2, 1, 2}, {1, 2, 3, 4});
  CHECK(f.floats(matmul(a, f({2, 2}, {1, 10, 100, 1000}))) == Floats{201, 2010, 403, 4030});
  CHECK(f.floats(matmul(a, f({2, 2, 1}, {1, 10, 100, 1000}))) == Floats{21, 4300});
  CHECK(f.floats(apply(RowProduct{}, {a, f({2, 1, 1}, {10, 1})})[0]) == Floats{13, 24});
}

TEST_CASE("a product is one chain of multiply-adds, ascending in k") {
  Fixture f;
  f.options.target = GENERATE(KernelTarget::automatic, KernelTarget::portable);
  // 2^24 + 1 + 1 is 2^24 in this order, since 2^24 + 1 rounds to even.
  const Tensor a = f({1, 3}, {16777216, 1, 1});
  CHECK(f.scalar(sum(matmul(a, f({3, 1}, {1, 1, 1})))) == 16777216);
}

TEST_CASE("products hold what every op holds") {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      std::vector<Example> examples;
      for (const auto& [m, k, n] : kSizes) {
        examples.push_back(
            {Array::uniform(stored({}, ta, m, k), 1), Array::uniform(stored({}, tb, k, n), 2)});
      }
      examples.push_back(
          {Array::uniform(stored({2}, ta, 3, 4), 1), Array::uniform(stored({2}, tb, 4, 5), 2)});
      examples.push_back(
          {Array::uniform(stored({2, 3}, ta, 3, 4), 1), Array::uniform(stored({2, 3}, tb, 4, 5), 2)});
      examples.push_back(
          {Array::uniform(stored({2, 3}, ta, 3, 4), 1), Array::uniform(stored({}, tb, 4, 5), 2)});
      examples.push_back({Array::uniform(stored({0}, ta, 3, 4), 1), Array::uniform(stored({}, tb, 4, 5), 2)});
      check_op(Matmul{ta, tb}, examples);
    }
  }
  check_op(RowProduct{}, {{Array::uniform({4, 3}, 1), Array::uniform({4, 5}, 2)},
                          {Array::uniform({4, 2, 3}, 1), Array::uniform({4, 2, 5}, 2)},
                          {Array::uniform({2, 3, 2, 7}, 1), Array::uniform({2, 3, 2, 1}, 2)},
                          {Array::uniform({0, 3}, 1), Array::uniform({0, 2}, 2)},
                          {Array::uniform({2, 0, 3}, 1), Array::uniform({2, 0, 2}, 2)},
                          {Array::uniform({1, 1, 3}, 1), Array::uniform({1, 1, 2}, 2)}});
  CHECK(true);  // check_op throws
}

TEST_CASE("products refuse what does not fit") {
  Fixture f;
  const Tensor a = f(Array::uniform({16, 127}, 1)), b = f(Array::uniform({128, 64}, 2));
  CHECK_THROWS_WITH(matmul(a, b),
                    ContainsSubstring("wafer.matmul") &&
                        ContainsSubstring("dimension 1 of the first and dimension 0 of the second") &&
                        ContainsSubstring("127 and 128 in f32[16, 127], f32[128, 64]"));
  CHECK_THROWS_WITH(matmul(f(Array::uniform({3}, 1)), b), ContainsSubstring("rank >= 2"));
  CHECK_THROWS_WITH(matmul(f(Array::uniform({2, 3, 4}, 1)), f(Array::uniform({3, 4, 5}, 1))),
                    ContainsSubstring("equal leading dimensions"));
  CHECK_THROWS_AS(matmul(a, f.graph.constant(1, DType::i32)), UserError);
  CHECK_THROWS_AS(apply(RowProduct{}, {a, b}), UserError);
}
