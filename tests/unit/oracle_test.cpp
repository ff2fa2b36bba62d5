// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// Holds that tests mean by the oracle's figures what PyTorch meant, with plain loops in f64 and none of
// wafer's ops.
#include <wafer/data/idx.hpp>

#include "../oracle/figures.hpp"
#include "../oracle/formula.hpp"
#include "../oracle/ops_figures.hpp"
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

using namespace wafer;

namespace {

using Values = std::vector<double>;

Values as_f64(std::span<const float> values) { return {values.begin(), values.end()}; }

/// x[rows, in] times the transpose of weight[out, in], plus bias[out].
Values linear(const Values& x, const Values& weight, const Values& bias) {
  const std::size_t out = bias.size(), in = weight.size() / out, rows = x.size() / in;
  Values y;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[o * in + i];
      y.push_back(sum);
    }
  return y;
}

/// The tanh form, sqrt(2 / pi) = 0.797884560802865...
Values gelu(Values x) {
  for (double& v : x) v = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  return x;
}

double mean_cross_entropy(const Values& logits, std::span<const std::int32_t> labels) {
  const std::size_t classes = logits.size() / labels.size();
  double sum = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const auto row = std::span(logits).subspan(r * classes, classes);
    const double largest = *std::ranges::max_element(row);
    double total = 0;
    for (const double v : row) total += std::exp(v - largest);
    sum += largest + std::log(total) - row[static_cast<std::size_t>(labels[r])];
  }
  return sum / static_cast<double>(labels.size());
}

std::string oracle_file(const std::string& name) {
  return std::string(WAFER_SOURCE_DIR) + "/tests/oracle/" + name;
}

}  // namespace

TEST_CASE("the formula gives what formula.py gives") {
  CHECK(oracle::hash32(0) == 0);
  CHECK(oracle::hash32(1) == 0x688990c0);
  CHECK(oracle::hash32(2) == 0xd1132181);
  CHECK(oracle::hash32(401407) == 0x1a004be5);
  CHECK(oracle::hash32(0xffffffff) == 0x6768824a);
  CHECK(oracle::values(0, 5, 0x1p-5f) ==
        std::vector<float>{-0.03125f, -0.00572818518f, 0.0197936334f, -0.0107556246f, 0.0218490288f});
  CHECK(oracle::values(401408, 3, 0x1p-5f) ==
        std::vector<float>{0.0199743472f, 0.0186799914f, -0.0304602273f});
  CHECK(oracle::values(669194, 2, 0x1p-4f) == std::vector<float>{-0.0324545428f, -0.00528302789f});
}

TEST_CASE("the MLP's parameters are numbered through") {
  std::uint32_t offset = 0;
  for (const oracle::Parameter& parameter : oracle::kMlp) {
    CHECK(parameter.offset == offset);
    offset += parameter.size();
  }
  CHECK(offset == 669'706);
}

TEST_CASE("the small MLP of ops.py is the one that its comment describes") {
  const auto part = [](std::uint32_t offset, std::uint32_t count) {
    return as_f64(oracle::values(offset, count, 1.0f));
  };
  const Values hidden = gelu(linear(part(0, 12), part(12, 24), part(36, 6)));
  const Values logits = linear(hidden, part(42, 30), part(72, 5));
  REQUIRE(logits.size() == std::size(oracle::kMlpLogits));
  for (std::size_t i = 0; i < logits.size(); ++i) CHECK(std::abs(logits[i] - oracle::kMlpLogits[i]) < 1e-12);
  const std::int32_t labels[] = {3, 0, 1};
  CHECK(std::abs(mean_cross_entropy(logits, labels) - oracle::kMlpLoss) < 1e-12);
}

TEST_CASE("the figures of both runs are whole") {
  for (const std::string run : {"sgd", "adamw"}) {
    const oracle::Figures figures = oracle::read_figures(oracle_file("mlp_" + run + ".txt"));
    CHECK(figures.loss.size() == 100);
    CHECK(figures.norm.size() == (run == "sgd" ? 0 : 100));
    CHECK(figures.tensors.size() == std::size(oracle::kMlp));
    for (const oracle::Parameter& parameter : oracle::kMlp) {
      const oracle::TensorFigures& tensor = figures.tensors.at(parameter.name);
      CHECK(tensor.stride == 97);
      CHECK(tensor.samples.size() == (parameter.size() + 96) / 97);
      CHECK(std::abs(tensor.sum) < tensor.magnitudes);
    }
  }
  const oracle::Figures adamw = oracle::read_figures(oracle_file("mlp_adamw.txt"));
  // Clipping to a norm of 1 fires in most steps.
  CHECK(std::ranges::count_if(adamw.norm, [](double norm) { return norm > 1; }) == 86);
}

TEST_CASE("the first loss of both runs follows from formula and data alone") {
  const std::string folder = WAFER_FASHION_MNIST;
  if (!std::filesystem::exists(folder)) WAFER_NOT_RUN("no " + folder);
  const data::Dataset set = data::fashion_mnist(folder, "train");
  Values x = as_f64(std::span(set.images).first(128 * 784));
  for (std::size_t layer = 0; layer < 3; ++layer) {
    x = linear(x, as_f64(oracle::kMlp[2 * layer].initial()), as_f64(oracle::kMlp[2 * layer + 1].initial()));
    if (layer < 2) x = gelu(x);
  }
  const double loss = mean_cross_entropy(x, std::span(set.labels).first(128));
  for (const std::string run : {"sgd", "adamw"})
    CHECK(std::abs(loss / oracle::read_figures(oracle_file("mlp_" + run + ".txt")).loss[0] - 1) < 1e-6);
}
