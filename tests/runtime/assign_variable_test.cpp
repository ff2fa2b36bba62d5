// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

#include "catch.hpp"
#include "swap.hpp"

#include <vector>

using namespace wafer;
using wafer_test::Swap;

namespace {

/// SGD that keeps the weights before the step as the state "previous".
struct Remembering {
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    for (const GradientOf& of : gradients) builder.assign(builder.state(of, "previous"), of.value);
    SGD{.lr = 1}.build(builder, gradients);
  }
};

// One step of mean(w * x) over a batch of ones: each gradient of the four weights is 1 / 4.
Executable compile_with_optimizer(const Optimizer& optimizer, const Fabric& fabric) {
  Graph g;
  const Axis b = g.axis("b", 2);
  const Tensor w = parameter(g, "w", {4}, Init::constant(3));
  const Tensor loss = mean(g.input("x", {b, 4}) * w);
  return compile(minimize(loss, optimizer).fetch("loss", loss), fabric);
}

}  // namespace

TEST_CASE("a variable may be assigned what another one held before the step") {
  const std::vector<float> ones(8, 1), sevens(4, 7), threes(4, 3);
  for (const Fabric& fabric : {Fabric::host(), Fabric::mesh(2, 2)}) {
    Session swaps{compile_with_optimizer(Swap{}, fabric)};
    swaps.step({{"x", ones}});
    CHECK(swaps.get("w") == sevens);
    CHECK(swaps.get("optimizer.w.other") == threes);
    Session remembers{compile_with_optimizer(Remembering{}, fabric)};
    remembers.step({{"x", ones}});
    CHECK(remembers.get("w") == std::vector<float>(4, 2.75F));
    CHECK(remembers.get("optimizer.w.previous") == threes);
    remembers.step({{"x", ones}});
    CHECK(remembers.get("optimizer.w.previous") == std::vector<float>(4, 2.75F));
  }
}
