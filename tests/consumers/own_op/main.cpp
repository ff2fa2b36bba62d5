// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Checks an op and a layer that the library does not know, and trains with them on a host and on a mesh.
#include "clip.hpp"
#include "column_sum.hpp"
#include "gain.hpp"
#include "gated.hpp"
#include "squared_gap.hpp"

#include <wafer/core/rng.hpp>
#include <wafer/testing/check_layer.hpp>
#include <wafer/testing/check_op.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace wafer;
using own::Clip;
using own::ColumnSum;
using own::Gain;
using own::Gated;
using own::SquaredGap;

namespace {

constexpr Index kBatch = 16, kWidth = 8;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

// What every op has to keep: strides, pieces, empty extents, NaN, memory it may share, gradients.
void check_clip() {
  using testing::Array;
  const Clip clip{.low = -0.5, .high = 0.75};
  testing::check_op(clip, {{Array({6}, {-1, -0.25F, 0, 0.5F, 1, 2})},
                           {Array({2, 3}, {-3, 0.25F, 0.5F, 1, -0.125F, 4})},
                           {Array(Shape{}, {0.5F})},
                           {Array({0, 3}, std::vector<float>{})}});
}

void check_squared_gap() {
  using testing::Array;
  const Array two_by_three({2, 3}, {-1, 0.5F, 2, 3, -0.25F, 1});
  testing::check_op(SquaredGap{}, {{two_by_three, Array({2, 3}, {1, 0.25F, -2, 0, 4, 1})},
                                   {two_by_three, Array({3}, {1, -0.5F, 2})},
                                   {Array({2, 1}, {0.5F, -3}), two_by_three},
                                   {Array(Shape{}, {0.5F}), two_by_three}});
}

// Besides: rows in pieces, whose sums go on from those before.
void check_column_sum() {
  using testing::Array;
  testing::check_op(ColumnSum{}, {{Array({3, 2}, {-1, 0.5F, 2, 3, -0.25F, 1})},
                                  {Array({1, 4}, {1, -2, 0.5F, 4})},
                                  {Array({0, 3}, std::vector<float>{})}});
}

void column_sum_gives_values() {
  Graph g;
  const Tensor y = apply(ColumnSum{}, {parameter(g, "x", {2, 2}, Init::zeros())}).at(0);
  Session session{compile(fetch("y", y), Fabric::host())};
  session.set("x", std::vector<float>{1, 2, 3, 5});
  const auto view = session.step({})["y"].values<float>();
  expect(std::vector<float>(view.begin(), view.end()) == std::vector<float>{4, 7}, "sums of columns");
}

// With a = (1, 2) over rows and b = (3, 5): gaps -2 and -3, of which each of two rows has one.
void squared_gap_gives_values_and_gradients() {
  Graph g;
  const Tensor a = parameter(g, "a", {2, 2}, Init::zeros()), b = parameter(g, "b", {2}, Init::zeros());
  const Tensor y = apply(SquaredGap{}, {a, b}).at(0);
  Session session{compile(minimize(sum(y), SGD{.lr = 1}).fetch("y", y), Fabric::host())};
  session.set("a", std::vector<float>{1, 2, 1, 2});
  session.set("b", std::vector<float>{3, 5});
  const auto view = session.step({})["y"].values<float>();
  expect(std::vector<float>(view.begin(), view.end()) == std::vector<float>{4, 9, 4, 9}, "squares of gaps");
  expect(session.get("a") == std::vector<float>{5, 8, 5, 8}, "a gradient of twice the gap");
  expect(session.get("b") == std::vector<float>{-5, -7}, "its opposite, summed over rows");
}

// Fewer rows, gradients of parameters and input, kernels beside references.
void check_gated() { testing::check_layer(Gated{}, testing::Array::uniform({4, 3}, 1)); }

// Values and gradients known beforehand. One step of SGD at rate 1 subtracts the gradient of the sum: 1 where
// nothing is clipped.
void clip_gives_values_and_gradients() {
  Graph g;
  Tensor p = parameter(g, "p", {5}, Init::zeros());
  Tensor y = p | Clip{.low = 0, .high = 1};
  Session session{compile(minimize(sum(y), SGD{.lr = 1}).fetch("y", y), Fabric::host())};
  session.set("p", std::vector<float>{-1, 0.25F, 0.5F, 2, std::numeric_limits<float>::infinity()});
  const auto view = session.step({})["y"].values<float>();
  expect(std::vector<float>(view.begin(), view.end()) == std::vector<float>{0, 0.25F, 0.5F, 1, 1},
         "clipped values");
  const std::vector<float> after = session.get("p");
  expect(after == std::vector<float>{-1, -0.75F, -0.5F, 2, std::numeric_limits<float>::infinity()},
         "a gradient of 1 between the bounds and 0 beyond");
}

void clip_refuses_what_it_cannot_take() {
  Graph g;
  Tensor label = g.input("label", {4}, DType::i32);
  try {
    label | in_scope("block", [](Tensor x) { return x | Clip{}; });
  } catch (const UserError& error) {
    const std::string message = error.what();
    for (const char* part : {"own.clip", "block", "f32", "i32[4]"}) {
      expect(message.find(part) != std::string::npos,
             std::string("a message with '") + part + "', got: " + message);
    }
    return;
  }
  throw std::runtime_error("expected a UserError for labels");
}

// With A = identity and everything else zero, the gate is sigmoid(0) = 1/2.
void gated_gives_values() {
  Graph g;
  Axis b = g.axis("batch", 4);
  Tensor y = g.input("x", {b, 2}) | in_scope("gate", Gated{});
  Session session{compile(fetch("y", y), Fabric::host())};
  session.set("gate.a.weight", std::vector<float>{1, 0, 0, 1});
  session.set("gate.b.weight", std::vector<float>(4, 0));
  for (const char* bias : {"gate.a.bias", "gate.b.bias"}) session.set(bias, std::vector<float>(2, 0));
  const auto view = session.step({{"x", std::vector<float>{1, -2, 3, 8}}})["y"].values<float>();
  expect(std::vector<float>(view.begin(), view.end()) == std::vector<float>{0.5F, -1, 1.5F, 4}, "half of x");
}

// Three times x, then a step of SGD at rate 1: the gradient of a gain is the sum of its column.
void gain_gives_values_and_gradients() {
  testing::check_layer(Gain{}, testing::Array::uniform({4, 3}, 1));
  Graph g;
  Axis b = g.axis("batch", 2);
  const Tensor y = g.input("x", {b, 2}) | in_scope("out", Gain{});
  Session session{compile(minimize(sum(y), SGD{.lr = 1}).fetch("y", y), Fabric::host())};
  session.set("out.gain", std::vector<float>{3, 3});
  const auto view = session.step({{"x", std::vector<float>{1, -2, 4, 0.5F}}})["y"].values<float>();
  expect(std::vector<float>(view.begin(), view.end()) == std::vector<float>{3, -6, 12, 1.5F}, "3 times x");
  expect(session.get("out.gain") == std::vector<float>{-2, 4.5F}, "gains less the sums of columns");
}

struct Training {
  double first_loss = 0, last_loss = 0;
  std::vector<std::uint32_t> bits;  // of all weights
  Index blocks = 0;
};

// Learns y_j = clip(x_j - x_(j+1)). `cut` cuts the batch over the mesh's rows and a layer over its columns.
Training train(const Fabric& fabric, bool cut) {
  Graph g;
  Axis b = g.axis("batch", kBatch);
  Tensor x = g.input("x", {b, kWidth});
  Tensor target = g.input("target", {b, kWidth});
  Tensor hidden = x | nn::Linear{32, "in"} | in_scope("block", nn::Residual{Gated{}});
  Tensor y = hidden | nn::Linear{kWidth, "out"} | Clip{.low = -1, .high = 1};
  if (cut) {
    x.split(b, Mesh::rows);
    hidden.split(-1, Mesh::columns);
  }
  Tensor loss = mean(square(y - target));
  Executable executable =
      compile({{"train", minimize(loss, AdamW{.lr = 0.01, .weight_decay = 0}).fetch("loss", loss)}}, fabric);

  Session session{executable, {.threads = 2}};
  std::vector<float> xs(kBatch * kWidth), targets(kBatch * kWidth);
  Training out;
  out.blocks = executable.plan().blocks();
  for (std::uint64_t step = 0; step < 300; ++step) {
    fill_uniform(1, step, 0, -1, 1, xs);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const std::size_t next = i % kWidth + 1 < kWidth ? i + 1 : i + 1 - kWidth;
      targets[i] = std::fmin(1.0F, std::fmax(-1.0F, xs[i] - xs[next]));
    }
    out.last_loss = session.step({{"x", xs}, {"target", targets}})["loss"].scalar();
    if (step == 0) out.first_loss = out.last_loss;
  }
  for (const VariableDescription& variable : session.variables()) {
    if (!variable.trained) continue;
    for (float value : session.get(variable.path)) out.bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return out;
}

void training_learns_the_same_everywhere() {
  const Training host = train(Fabric::host(), false);
  expect(host.last_loss < 0.1 * host.first_loss, "the loss to fall to a tenth, got " +
                                                     std::to_string(host.first_loss) + " and then " +
                                                     std::to_string(host.last_loss));
  const Training mesh = train(Fabric::mesh(2, 2), true);
  expect(mesh.blocks == 4, "four blocks that compute, got " + std::to_string(mesh.blocks));
  expect(mesh.last_loss == host.last_loss && mesh.bits == host.bits, "the same bits on host and mesh");
  std::cout << "loss " << host.first_loss << " -> " << host.last_loss << " on host and mesh\n";
}

}  // namespace

int main() {
  try {
    check_clip();
    check_squared_gap();
    check_column_sum();
    check_gated();
    squared_gap_gives_values_and_gradients();
    clip_gives_values_and_gradients();
    column_sum_gives_values();
    gain_gives_values_and_gradients();
    clip_refuses_what_it_cannot_take();
    gated_gives_values();
    training_learns_the_same_everywhere();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
