// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle_mlp.hpp"

#include "catch.hpp"

#include <filesystem>
#include <limits>
#include <string>

// Bounds and figures are bench_vs_torch's.
TEST_CASE("a network trains as in PyTorch") {
  const std::string folder = WAFER_FASHION_MNIST;
  if (!std::filesystem::exists(folder + "/train-images-idx3-ubyte.gz"))
    WAFER_NOT_RUN("no Fashion-MNIST in " + folder);
  const wafer::data::Dataset set = wafer::data::fashion_mnist(folder, "train");
  for (const bool adamw : {false, true}) {
    INFO((adamw ? "AdamW" : "SGD"));
    const oracle::Figures figures = oracle::mlp_figures(adamw);
    REQUIRE(figures.loss.size() == static_cast<std::size_t>(oracle::kSteps));
    for (const auto& [name, tensor] : figures.tensors) {
      INFO(name);
      REQUIRE(!tensor.samples.empty());
    }
    const oracle::Differences d = oracle::train_and_compare(adamw, set, figures, wafer::Fabric::host());
    CHECK(d.loss_rel <= oracle::Differences::kLossBound);
    CHECK(d.weight_abs <= oracle::Differences::kWeightBound);
    CHECK(d.sum_rel <= oracle::Differences::kSumBound);
  }
}

TEST_CASE("weights of another training are out of PyTorch's bounds") {
  const oracle::Figures figures = oracle::mlp_figures(false);
  oracle::Differences d;
  oracle::compare(oracle::kMlp[0].initial(), figures.tensors.at("fc1.weight"), d);
  CHECK(d.weight_abs > 1e-3);
  CHECK(!d.within_bounds());
  oracle::Differences nothing;
  oracle::raise(nothing.loss_rel, std::numeric_limits<double>::quiet_NaN());
  CHECK(!nothing.within_bounds());
}
