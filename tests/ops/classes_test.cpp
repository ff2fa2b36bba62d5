// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_op.hpp>

#include <cmath>

#include "../oracle/ops_figures.hpp"
#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using wafer::testing::check_op;
using wafer::testing::Example;

namespace {

Tensor labels(Graph g, std::initializer_list<std::int32_t> values) {
  return g.constant(std::span<const std::int32_t>(values.begin(), values.size()),
                    {static_cast<Index>(values.size())});
}

// The message of the RunError that evaluating a tensor throws.
std::string run_error(const Fixture& f, const Tensor& tensor) {
  try {
    f.value(tensor);
  } catch (const RunError& error) {
    return error.what();
  }
  return "no RunError";
}

Array labels_for(const Shape& shape, Index classes) {
  Array array({DType::i32, shape});
  std::int32_t next = 0;
  for (std::int32_t& label : array.values<std::int32_t>())
    label = static_cast<std::int32_t>((next++ * 7) % classes);
  return array;
}

std::vector<Example> examples(bool with_gradient) {
  std::vector<Example> all;
  const auto add = [&](const Shape& logits, const Shape& rows) {
    all.push_back({Array::uniform(logits, 1, -3, 3), labels_for(rows, logits[logits.rank() - 1])});
    if (with_gradient) all.back().push_back(Array::uniform(rows, 2));
  };
  add({3, 5}, {3});
  add({1, 1}, {1});
  add({7, 10}, {7});
  add({2, 130}, {2});
  add({0, 4}, {0});
  add({6}, {});
  add({2, 3, 9}, {2, 3});
  return all;
}

}  // namespace

TEST_CASE("cross-entropy has PyTorch's values and gradients") {
  Fixture f;
  Array z({DType::f32, Shape{3, 5}});
  for (std::size_t i = 0; i < 15; ++i) z.values<float>()[i] = static_cast<float>(oracle::kCeLogits[i]);
  const Tensor logits = f(z);
  const Tensor loss = logits | cross_entropy(labels(f.graph, {2, 0, 4}));
  CHECK(f.scalar(loss) == Approx(oracle::kCeLoss).epsilon(1e-6));
  const Floats gradient = f.floats(f.gradient(loss, logits));
  for (std::size_t i = 0; i < 15; ++i)
    CHECK(gradient[i] == Approx(oracle::kCeGradient[i]).epsilon(1e-6).margin(1e-7));
}

TEST_CASE("cross-entropy neither overflows nor takes the logarithm of 0") {
  Fixture f;
  const Tensor logits = f({1, 2}, {1000, 0});
  const Tensor loss = cross_entropy(logits, labels(f.graph, {1}));
  CHECK(f.scalar(loss) == 1000);
  CHECK(f.floats(f.gradient(loss, logits)) == Floats{1, -1});
}

TEST_CASE("the softmax beside the cross-entropy has its values and its gradient") {
  Fixture f;
  const Tensor logits = f({1, 3}, {1, 2, 3});
  const Tensor p = apply(SoftmaxCrossEntropy{}, {logits, labels(f.graph, {0})}).at(1);
  const Floats softmax = f.floats(p);
  const double expected[] = {0.09003057317, 0.24472847105, 0.66524095577};
  for (std::size_t j = 0; j < 3; ++j) CHECK(softmax[j] == Approx(expected[j]).epsilon(1e-6));
  // d(p_0)/dz_j = p_0 ((j == 0) - p_j)
  const Floats slope = f.floats(f.gradient(sum(p * f({1, 3}, {1, 0, 0})), logits));
  for (std::size_t j = 0; j < 3; ++j)
    CHECK(slope[j] == Approx(expected[0] * ((j == 0) - expected[j])).epsilon(1e-6));
}

TEST_CASE("a mean over rows does not change when the batch is doubled") {
  Fixture f;
  const Tensor once = f({1, 3}, {1, 2, 0.5f}), twice = f({2, 3}, {1, 2, 0.5f, 1, 2, 0.5f});
  CHECK(f.scalar(cross_entropy(once, labels(f.graph, {2}))) ==
        f.scalar(cross_entropy(twice, labels(f.graph, {2, 2}))));
}

TEST_CASE("labels out of range are errors that name row, value and range") {
  Fixture f;
  const Tensor logits = f(Array::uniform({2, 3}, 1));
  const std::string above = run_error(f, cross_entropy(logits, labels(f.graph, {0, 3})));
  CHECK_THAT(above, ContainsSubstring("in row 1: expected a value in [0, 3), got 3"));
  CHECK_THAT(above, StartsWith("op 'wafer.softmax_cross_entropy': label"));
  CHECK_THAT(run_error(f, cross_entropy(logits, labels(f.graph, {0, -1}))),
             ContainsSubstring("row 1: expected a value in [0, 3), got -1"));
  CHECK_THAT(run_error(f, count_correct(logits, labels(f.graph, {2147483647, 0}))),
             ContainsSubstring("row 0: expected a value in [0, 3), got 2147483647"));
}

TEST_CASE("argmax gives the first greatest, and counts NaN as greatest") {
  Fixture f;
  const Tensor x = f({4, 3}, {1, 3, 3, -1, -2, -3, 0, NAN, 9, NAN, NAN, 1});
  CHECK(f.value(argmax(x)).values<std::int32_t>() == std::vector<std::int32_t>{1, 0, 1, 0});
  CHECK(f.value(count_correct(x, labels(f.graph, {1, 1, 1, 0}))).values<std::int32_t>() ==
        std::vector<std::int32_t>{3});
}

TEST_CASE("ops on classes hold what every op holds") {
  check_op(SoftmaxCrossEntropy{}, examples(false));
  check_op(SoftmaxCrossEntropyGradient{}, examples(true));
  check_op(CountCorrect{}, examples(false));
  std::vector<Example> scores = examples(false);
  for (Example& example : scores) example.pop_back();
  check_op(Argmax{}, scores);
  check_op(CheckRange{"label", -3, 9},
           {{Array::labels({2, 3}, {0, -3, 8, 1, 2, 3})}, {Array::labels({}, {4})}});
  CHECK(true);  // check_op throws
}

TEST_CASE("ops on classes refuse what does not fit") {
  Fixture f;
  const Tensor logits = f(Array::uniform({2, 3}, 1));
  CHECK_THROWS_WITH(cross_entropy(logits, labels(f.graph, {1, 2, 0})),
                    ContainsSubstring("wafer.softmax_cross_entropy") &&
                        ContainsSubstring("expected labels i32[2] for logits f32[2, 3], got i32[3]"));
  CHECK_THROWS_WITH(cross_entropy(logits, logits),
                    ContainsSubstring("op 'wafer.softmax_cross_entropy': expected labels i32[2]") &&
                        ContainsSubstring("got f32[2, 3]"));
  CHECK_THROWS_WITH(logits | in_scope("head", [](Tensor x) { return count_correct(x, x); }),
                    ContainsSubstring("op 'wafer.count_correct' at 'head': expected labels i32[2]"));
  CHECK_THROWS_WITH(
      cross_entropy(logits, Tensor{}),
      ContainsSubstring("op 'wafer.softmax_cross_entropy': expected tensors, got an empty handle"));
  CHECK_THROWS_WITH(cross_entropy(f(Array::uniform({2, 0}, 1)), labels(f.graph, {0, 0})),
                    ContainsSubstring("at least one class"));
  CHECK_THROWS_WITH(argmax(f({}, {1})),
                    ContainsSubstring("wafer.argmax") && ContainsSubstring("at least one class"));
}
