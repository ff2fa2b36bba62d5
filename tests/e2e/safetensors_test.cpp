// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/io/safetensors.hpp>
#include <wafer/wafer.hpp>

#include "../unit/temp_folder.hpp"
#include "catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace wafer;

namespace {

constexpr Index kBatch = 16, kInputs = 6, kHidden = 9, kClasses = 4;

struct Network {
  Graph graph;
  Tensor logits, loss;
};

Network network() {
  Graph g;
  Axis b = g.axis("batch", kBatch);
  Tensor x = g.input("x", {b, kInputs});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor logits = x | nn::Linear{kHidden, "fc1"} | Gelu{} | nn::Linear{kClasses, "head"};
  return {g, logits, logits | cross_entropy(label)};
}

Session trained(const Fabric& fabric) {
  const Network n = network();
  Session session{compile({{"train", minimize(n.loss, AdamW{.lr = 0.01}).fetch("loss", n.loss)},
                           {"predict", fetch("logits", n.logits)}},
                          fabric),
                  {.threads = 2}};
  return session;
}

/// Nothing but the forward pass: no labels, no gradients, no state of an optimizer.
Session predicting(const Fabric& fabric) {
  const Network n = network();
  return Session{compile({{"predict", fetch("logits", n.logits)}}, fabric), {.threads = 1, .seed = 99}};
}

std::vector<float> rows() {
  std::vector<float> x;
  for (Index i = 0; i < kBatch * kInputs; ++i) x.push_back(static_cast<float>(i * 37 % 64) / 32 - 1);
  return x;
}

void train(Session& session, int steps) {
  const std::vector<float> x = rows();
  std::vector<std::int32_t> label;
  for (Index i = 0; i < kBatch; ++i) label.push_back(static_cast<std::int32_t>(i % kClasses));
  for (int step = 0; step < steps; ++step) session.step("train", {{"x", x}, {"label", label}});
}

std::vector<std::uint32_t> logit_bits(Session& session) {
  std::vector<std::uint32_t> bits;
  const std::vector<float> x = rows();
  const Result result = session.step("predict", {{"x", x}});
  for (const float value : result["logits"].values<float>())
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<float> floats(const io::Entry& entry) {
  std::vector<float> values(entry.data.size() / sizeof(float));
  std::memcpy(values.data(), entry.data.data(), entry.data.size());
  return values;
}

}  // namespace

TEST_CASE("weights saved after training predict the same bits in a program without an optimizer") {
  const wafer_test::TempFolder folder;
  const std::string file = folder.path("weights.safetensors");
  Session source = trained(Fabric::host());
  train(source, 5);
  source.save(file);
  const std::vector<std::uint32_t> expected = logit_bits(source);
  REQUIRE(expected.size() == static_cast<std::size_t>(kBatch * kClasses));

  for (const Fabric& fabric : {Fabric::host(), Fabric::mesh(2, 2)}) {
    INFO(fabric.name);
    Session reader = predicting(fabric);
    CHECK(logit_bits(reader) != expected);
    reader.load(file);
    CHECK(logit_bits(reader) == expected);
    for (const VariableDescription& variable : reader.variables()) CHECK(variable.trained);
  }
}

TEST_CASE("a trained mesh saves what a host loads") {
  const wafer_test::TempFolder folder;
  const std::string file = folder.path("weights.safetensors");
  Session source = trained(Fabric::mesh(2, 2));
  train(source, 3);
  source.save(file);
  Session reader = predicting(Fabric::host());
  reader.load(file);
  CHECK(logit_bits(reader) == logit_bits(source));
}

TEST_CASE("saved weights have PyTorch's names and layouts, and nothing else is saved") {
  const wafer_test::TempFolder folder;
  const std::string file = folder.path("weights.safetensors");
  Session session = trained(Fabric::host());
  train(session, 2);
  session.save(file);
  const io::SafetensorsFile saved(file);
  const std::vector<std::pair<std::string, std::vector<Index>>> expected{{"fc1.weight", {kHidden, kInputs}},
                                                                         {"fc1.bias", {kHidden}},
                                                                         {"head.weight", {kClasses, kHidden}},
                                                                         {"head.bias", {kClasses}}};
  CHECK(saved.entries().size() == expected.size());
  for (const auto& [name, shape] : expected) {
    INFO(name);
    const io::Entry* entry = saved.find(name);
    REQUIRE(entry != nullptr);
    CHECK(entry->dtype == DType::f32);
    CHECK(entry->shape == shape);
    CHECK(floats(*entry) == session.get(name));
  }
}

// Row o of a weight makes output o: logits computed here from the file's numbers, in f64.
TEST_CASE("a saved weight is [out, in], row-major") {
  const wafer_test::TempFolder folder;
  const std::string file = folder.path("weights.safetensors");
  Session session = trained(Fabric::host());
  train(session, 2);
  session.save(file);
  const io::SafetensorsFile saved(file);
  const auto linear = [&](const std::string& name, const std::vector<double>& in, Index outputs) {
    const std::vector<float> weight = floats(*saved.find(name + ".weight"));
    const std::vector<float> bias = floats(*saved.find(name + ".bias"));
    std::vector<double> out(bias.begin(), bias.end());
    for (std::size_t o = 0; o < static_cast<std::size_t>(outputs); ++o) {
      for (std::size_t i = 0; i < in.size(); ++i)
        out[o] += static_cast<double>(weight[o * in.size() + i]) * in[i];
    }
    return out;
  };
  const std::vector<float> x = rows();
  const Result result = session.step("predict", {{"x", x}});
  const auto logits = result["logits"].values<float>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(kBatch); ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row) * kInputs;
    std::vector<double> hidden = linear("fc1", std::vector<double>(first, first + kInputs), kHidden);
    for (double& h : hidden) h = 0.5 * h * (1 + std::tanh(0.7978845608028654 * (h + 0.044715 * h * h * h)));
    const std::vector<double> expected = linear("head", hidden, kClasses);
    for (std::size_t c = 0; c < expected.size(); ++c)
      CHECK(std::abs(static_cast<double>(logits[row * expected.size() + c]) - expected[c]) < 1e-5);
  }
}
