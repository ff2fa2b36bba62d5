// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/nn/linear.hpp>
#include <wafer/ops.hpp>

#include "../oracle/formula.hpp"
#include "../oracle/ops_figures.hpp"
#include "catch.hpp"
#include "graph_fixture.hpp"

using namespace wafer;
using namespace wafer_test;
using wafer::testing::Interpreter;

TEST_CASE("the interpreter runs what a tensor needs, under run-time extents") {
  Graph g;
  const Axis b = g.axis("batch", 4);
  const Tensor x = g.input("x", {b, 2}), unused = g.input("unused", {b});
  const Tensor y = sum(x * 2.0, {1});
  Interpreter run(g);
  CHECK_THROWS_WITH(run.value(y), Catch::Matchers::ContainsSubstring("input 'x': expected values, got none"));
  run.set(x, Array({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(Array(run.value(y)).values<float>() == Floats{6, 14, 22, 30});
  run.set_extent(b, 1);
  CHECK_THROWS_WITH(run.set(x, Array({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})),
                    Catch::Matchers::ContainsSubstring("expected f32[1, 2]"));
  run.set(x, Array({1, 2}, {1, 2}));
  CHECK(Array(run.value(y)).values<float>() == Floats{6});
  CHECK_THROWS_AS(run.set_extent(b, 5), UserError);
}

TEST_CASE("the interpreter starts parameters from their paths and its seed") {
  Graph g;
  const Tensor w = parameter(g, "w", {8}, Init::uniform(0.5)), v = parameter(g, "v", {8}, Init::uniform(0.5));
  Interpreter first(g, {.seed = 1}), again(g, {.seed = 1}), other(g, {.seed = 2});
  CHECK(same_bits(first.value(w), again.value(w)));
  CHECK_FALSE(same_bits(first.value(w), first.value(v)));
  CHECK_FALSE(same_bits(first.value(w), other.value(w)));
}

TEST_CASE("a small network has PyTorch's loss and gradients") {
  Graph g;
  const Tensor x = g.input("x", {3, 4});
  const std::int32_t classes[] = {3, 0, 1};
  const Tensor label = g.constant(std::span<const std::int32_t>(classes), {3});
  const Tensor logits = x | nn::Linear{6, "fc1"} | Gelu{} | nn::Linear{5, "fc2"};
  const Tensor loss = logits | cross_entropy(label);

  struct Source {
    Tensor tensor;
    std::span<const double> gradient;
  };
  const auto parameter_at = [&](std::size_t i) { return Tensor(g.data(), g.data()->variables[i].value); };
  const Source sources[] = {{x, oracle::kMlpGradientX},
                            {parameter_at(0), oracle::kMlpGradientW1},
                            {parameter_at(1), oracle::kMlpGradientB1},
                            {parameter_at(2), oracle::kMlpGradientW2},
                            {parameter_at(3), oracle::kMlpGradientB2}};
  Interpreter run(g, {.target = GENERATE(KernelTarget::automatic, KernelTarget::portable),
                      .reference = GENERATE(false, true)});
  Tensors tensors;
  std::uint32_t offset = 0;
  for (const Source& source : sources) {
    Array array(source.tensor.type());
    for (float& value : array.values<float>()) value = oracle::value(offset++, 1);
    run.set(source.tensor, array);
    tensors.push_back(source.tensor);
  }
  const Tensors gradients = gradients_of(loss, tensors);
  CHECK(run.value(loss).values<float>()[0] == Approx(oracle::kMlpLoss).epsilon(1e-6));
  for (std::size_t s = 0; s < gradients.size(); ++s) {
    const std::span<const float> values = run.value(gradients[s]).values<float>();
    REQUIRE(values.size() == sources[s].gradient.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] == Approx(sources[s].gradient[i]).epsilon(1e-5).margin(1e-6));
    }
  }
}
