// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Training has the same bits whether weights are stored in panels or not.
#include "catch.hpp"
#include "kernels/table.hpp"
#include "panels_fixture.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using namespace panels;

namespace {

/// Twice its input; throws where a tile is more than a panel of a matrix stored in them.
struct Twice {
  static constexpr std::string_view name = "test.twice";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles in, Tiles out) const {
    if (in[0].panelled >= 0 || out[0].panelled >= 0) throw std::logic_error("a tile in panels");
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = 2 * element<float>(in[0], index);
    });
  }
  Gradients gradient(Inputs, Outputs, Cotangents cotangents) const {
    return {apply(Twice{}, {cotangents[0]}).at(0)};
  }
};

/// w − rate · g, and g: the update of an optimizer of a user's.
struct Descend {
  static constexpr std::string_view name = "test.descend";
  static constexpr bool can_fail = false;
  double rate = 0;
  static constexpr auto attributes() { return std::tuple{attr("rate", &Descend::rate)}; }
  Types infer(const Types& in) const { return {in.at(0), in.at(0)}; }
  AxesRule axes(const Types& in) const {
    AxesRule rule;
    AxesRule::Dims dims;
    static constexpr std::string_view names[] = {"d0", "d1", "d2"};
    for (int d = 0; d < in[0].shape.rank(); ++d) dims.push_back({rule.parallel(names[d], in[0].shape[d])});
    for (int k = 0; k < 2; ++k) rule.operand(dims);
    for (int k = 0; k < 2; ++k) rule.result(dims);
    return rule;
  }
  void run(const Context&, Tiles in, Tiles out) const {
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      const float g = element<float>(in[1], index);
      element<float>(out[0], index) = element<float>(in[0], index) - static_cast<float>(rate) * g;
      element<float>(out[1], index) = g;
    });
  }
};

struct Descent {
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    for (const GradientOf& of : gradients) {
      const Tensors made = apply(Descend{0.25}, {of.value, of.gradient});
      builder.assign(of.value, made[0]);
      builder.assign(builder.state(of, "last"), made[1]);
    }
  }
};

Tensor product(bool transposed_a, const Tensor& a, bool transposed_b, const Tensor& b) {
  return apply(Matmul{transposed_a, transposed_b}, {a, b}).at(0);
}

const Network kPlain{
    "a stack of layers", [](Sources& in) {
      return in.loss(in.x(64) | nn::Linear{96, "fc1"} | Relu{} | nn::Linear{64, "fc2"} | Gelu{});
    }};
const Network kPartial{
    "last panels that are not full", [](Sources& in) {
      return in.loss(in.x(33) | nn::Linear{120, "fc1"} | Tanh{} | nn::Linear{62, "fc2"} | Relu{});
    }};
const Network kTied{"a weight in a product and in that of its transpose", [](Sources& in) {
                      const Tensor w = in.weight("w", 64, 96);
                      return in.loss(product(false, relu(matmul(in.x(64), w)), true, w));
                    }};
const Network kTimes{"rows of several times", [](Sources& in) {
                       const Tensor h = in.x(3, 40) | nn::Linear{64, "fc1"} | Relu{} | nn::Linear{96, "fc2"};
                       return in.loss(mean(h, {1}));
                     }};

const std::vector<Network> kNetworks{
    kPlain,
    kPartial,
    kTied,
    kTimes,
    {"a named axis within",
     [](Sources& in) {
       const Axis time = in.g.axis("time", 3);
       in.floats = 3 * 40;
       const Tensor h = in.g.input("x", {in.batch, time, 40}) | nn::Linear{64, "fc1"} | Sigmoid{};
       return in.loss(mean(h, {1}));
     }},
    {"a weight used twice alike",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 64);
       return in.loss(matmul(relu(matmul(in.x(64), w)), w));
     }},
    {"a penalty that sums all squares",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96);
       return in.loss(matmul(in.x(64), w)) + 0.01 * sum(square(w));
     }},
    {"a penalty that sums squares along rows",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96);
       return in.loss(matmul(in.x(64), w)) + 0.01 * sum(sqrt(sum(square(w), {1}) + 1.0));
     },
     false},
    {"a penalty that sums squares along columns",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96);
       return in.loss(matmul(in.x(64), w)) + 0.01 * sum(sqrt(sum(square(w), {0}) + 1.0));
     }},
    {"a weight with a factor for each of its columns",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96), scale = parameter(in.g, "scale", {96}, Init::constant(0.5));
       const Tensor x = in.x(64);
       return in.loss(matmul(x, w) + matmul(x, w * scale));
     }},
    {"a weight masked by another parameter",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96), mask = in.weight("mask", 64, 96), x = in.x(64);
       return in.loss(matmul(x, w) + matmul(x, w * mask));
     }},
    {"a weight masked by a constant",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96), x = in.x(64);
       const Tensor mask = in.g.constant(ramp(64 * 96, 3), Shape{64, 96});
       return in.loss(matmul(x, w) + matmul(x, w * mask));
     },
     false},
    {"a weight on the left",
     [](Sources& in) {
       const Tensor w = in.weight("w", 96, 64), x = in.x(64);
       return in.loss(product(false, x, true, w) + transpose(matmul(w, transpose(x))));
     },
     false},
    {"a weight read through a transpose",
     [](Sources& in) {
       const Tensor w = in.weight("w", 96, 64), x = in.x(64);
       return in.loss(product(false, x, true, w) + matmul(x, tanh(transpose(w))));
     }},
    {"a weight read in another shape",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 96), x = in.x(64);
       const Tensor other = reshape(relu(reshape(w, {64 * 96})), {64, 96});
       return in.loss(matmul(x, w) + matmul(x, other));
     },
     false},
    {"products of weights",
     [](Sources& in) {
       const Tensor v = in.weight("v", 64, 48), w = in.weight("w", 48, 96);
       return in.loss(matmul(in.x(64), matmul(v, w)));
     }},
    {"a user's op on a weight",
     [](Sources& in) {
       const Tensor w = in.weight("w", 64, 120), x = in.x(64);
       return in.loss(matmul(x, w) + matmul(x, apply(Twice{}, {w}).at(0)));
     }},
};

// All ways to run a network must have the bits of one thread without panels.
void expect_equal(const Network& network, const Optimizer& optimizer, double clip_norm = 0) {
  const Trained plain = train(network, optimizer, {.threads = 1, .panels = false}, clip_norm);
  CHECK_FALSE(plain.in_panels);
  for (const Index threads : {1, 2, 3}) {
    for (const Index micro_batches : {1, 2, 4}) {
      const Trained panelled =
          train(network, optimizer, {.micro_batches = micro_batches, .threads = threads}, clip_norm);
      INFO(network.name << ", threads " << threads << ", micro-batches " << micro_batches);
      CHECK(panelled.in_panels == network.in_panels);
      CHECK((panelled.numbers == plain.numbers));
    }
  }
}

}  // namespace

TEST_CASE("SGD has the same bits with weights in panels as without") {
  for (const Network& network : kNetworks)
    expect_equal(network, SGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  expect_equal(kPlain, SGD{.lr = 0.1});
}

TEST_CASE("AdamW has the same bits with weights in panels as without") {
  for (const Network& network : kNetworks) expect_equal(network, AdamW{.lr = 0.01});
  expect_equal(kTied, AdamW{.lr = warmup_cosine(0.01, 2, 10), .decayed = every_parameter});
}

TEST_CASE("an update of a user's has the same bits with weights in panels as without") {
  for (const Network& network : {kPlain, kPartial, kTied, kTimes}) expect_equal(network, Descent{});
}

TEST_CASE("clipping by a norm has the same bits with weights in panels as without") {
  for (const Network& network : kNetworks) expect_equal(network, AdamW{.lr = 0.01}, 0.5);
  expect_equal(kTied, SGD{.lr = 0.1, .momentum = 0.9}, 0.5);
}

TEST_CASE("panels change no bits on any kernel target") {
  for (const KernelTarget target : kernels::kTargets) {
    if (!kernels::supports(target)) continue;
    for (const Network& network : {kPlain, kPartial, kTied, kTimes}) {
      const Optimizer optimizer = AdamW{.lr = 0.01};
      const Trained plain =
          train(network, optimizer, {.kernel_target = target, .threads = 1, .panels = false});
      for (const Index threads : {1, 3}) {
        const Trained panelled = train(network, optimizer, {.kernel_target = target, .threads = threads});
        INFO(network.name << ", " << name_of(target) << ", threads " << threads);
        CHECK(panelled.in_panels);
        CHECK((panelled.numbers == plain.numbers));
      }
    }
  }
}

TEST_CASE("panels change no bits where tiles are small, down to a row or a panel") {
  for (const Index fast_memory : {1, 7, 8, 3000, 20000}) {
    Fabric fabric = Fabric::host();
    fabric.fast_memory = fast_memory;
    for (const Network& network : kNetworks) {
      const Optimizer optimizer = SGD{.lr = 0.1, .momentum = 0.9};
      const Trained plain = train(network, optimizer, {.threads = 1, .panels = false});
      for (const Index threads : {1, 3}) {
        const Trained panelled = train(network, optimizer, {.threads = threads}, 0, fabric);
        INFO(network.name << ", fast memory " << fast_memory << ", threads " << threads);
        CHECK(panelled.in_panels == network.in_panels);
        CHECK((panelled.numbers == plain.numbers));
      }
    }
  }
}

TEST_CASE("a gradient whose last tile is one column has the same bits in panels of its rows") {
  // A third of the gradient is what tiles should be of, so its 65 columns are in three tiles.
  Fabric fabric = Fabric::host();
  fabric.fast_memory = 44'000;
  const auto build = [&](bool in_panels) {
    Sources in(96);
    const Tensor loss = in.loss(in.x(65) | nn::Linear{64, "fc1"} | Relu{});
    return compile({{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9}).fetch("loss", loss)}}, fabric,
                   {.threads = 1, .panels = in_panels});
  };
  const Executable panelled = build(true);
  CHECK_THAT(panelled.plan().dump("tiling"),
             Catch::Matchers::ContainsSubstring("'wafer.matmul' at 'fc1': tiles 3 of 32\n"));
  CHECK(in_panels(panelled));
  const std::vector<Index> batches{96, 96, 50};
  CHECK((train(panelled, 1, 65, batches) == train(build(false), 1, 65, batches)));
}
