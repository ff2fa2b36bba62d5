// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../oracle/figures.hpp"
#include "../oracle/formula.hpp"

#include <wafer/wafer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

// Makes the training steps of tests/oracle/mlp.py, and says how far from PyTorch's figures they end.
namespace oracle {

inline constexpr wafer::Index kSteps = 100, kBatch = 128, kPixels = 784;

/// Largest differences over all steps and tensors; infinite where a difference is not a number.
struct Differences {
  double loss_rel = 0;    ///< of one step's loss, relative
  double weight_abs = 0;  ///< of one sampled weight, absolute
  double sum_rel = 0;     ///< of one tensor's sum, over the sum of its magnitudes

  static constexpr double kLossBound = 1e-5, kWeightBound = 1e-5, kSumBound = 1e-6;
  bool within_bounds() const {
    return loss_rel <= kLossBound && weight_abs <= kWeightBound && sum_rel <= kSumBound;
  }
};

inline void raise(double& largest, double difference) {
  largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
}

/// One GELU network 784-512-512-10, and the weights of formula.hpp.
inline wafer::Session start_mlp(bool adamw, const wafer::Fabric& fabric) {
  using namespace wafer;
  Graph g;
  Axis b = g.axis("batch", kBatch);
  Tensor image = g.input("image", {b, kPixels});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor logits =
      image | nn::Linear{512, "fc1"} | Gelu{} | nn::Linear{512, "fc2"} | Gelu{} | nn::Linear{10, "head"};
  Tensor loss = logits | cross_entropy(label);
  const AdamW with_decay{
      .lr = warmup_cosine(1e-3, 10, kSteps), .weight_decay = 0.01, .decayed = every_parameter};
  const Request request =
      adamw ? minimize(loss, with_decay).clip_norm(1.0) : minimize(loss, SGD{.lr = 0.05, .momentum = 0.9});
  Session session{compile({{"train", request.fetch("loss", loss)}}, fabric)};
  for (const Parameter& parameter : kMlp) session.set(parameter.name, parameter.initial());
  return session;
}

/// How far a tensor is from its figures.
inline void compare(const std::vector<float>& values, const TensorFigures& figures, Differences& worst) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  raise(worst.sum_rel, std::abs(sum - figures.sum) / figures.magnitudes);
  for (std::size_t k = 0; k < figures.samples.size(); ++k) {
    raise(worst.weight_abs,
          std::abs(static_cast<double>(values.at(k * figures.stride)) - figures.samples[k]));
  }
}

/// Trains on the first batches of the set, in the order of the file.
inline Differences train_and_compare(bool adamw, const wafer::data::Dataset& set, const Figures& figures,
                                     const wafer::Fabric& fabric) {
  wafer::Session session = start_mlp(adamw, fabric);
  const std::span<const float> images(set.images);
  const std::span<const std::int32_t> labels(set.labels);
  Differences worst;
  for (std::size_t step = 0; step < static_cast<std::size_t>(kSteps); ++step) {
    constexpr std::size_t kRows = kBatch, kBatchPixels = kBatch * kPixels;
    const double loss = session
                            .step("train", {{"image", images.subspan(step * kBatchPixels, kBatchPixels)},
                                            {"label", labels.subspan(step * kRows, kRows)}})["loss"]
                            .scalar();
    const double expected = figures.loss.at(step);
    raise(worst.loss_rel, std::abs(loss - expected) / std::abs(expected));
  }
  for (const Parameter& parameter : kMlp)
    compare(session.get(parameter.name), figures.tensors.at(parameter.name), worst);
  return worst;
}

/// What mlp.py wrote for one of the optimizers.
inline Figures mlp_figures(bool adamw) {
  return read_figures(std::string(WAFER_SOURCE_DIR) + "/tests/oracle/mlp_" + (adamw ? "adamw" : "sgd") +
                      ".txt");
}

}  // namespace oracle
