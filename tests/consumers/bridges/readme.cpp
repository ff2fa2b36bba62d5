// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Runs the README's examples of Eigen and xtensor, which the build takes from it.
#include <wafer/bridge/eigen.hpp>
#include <wafer/bridge/xtensor.hpp>
#include <wafer/wafer.hpp>

#include <stdexcept>
#include <string>

using namespace wafer;

namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("the README's example: expected " + what);
}

// The network of the README's twenty lines, all weights 2 but the head's bias: of an image of zeros, each
// logit is that bias.
Session readme_session() {
  Graph g;
  Axis b = g.axis("batch", 128);
  Tensor image = g.input("image", {b, 784});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor logits =
      image | nn::Linear{512, "fc1"} | Relu{} | nn::Linear{512, "fc2"} | Relu{} | nn::Linear{10, "head"};
  Session session{compile({{"eval", fetch("logits", logits).fetch("correct", count_correct(logits, label))}},
                          Fabric::host())};
  for (const VariableDescription& variable : session.variables()) {
    const bool hidden_bias = variable.path == "fc1.bias" || variable.path == "fc2.bias";
    session.set(variable.path, std::vector<float>(static_cast<std::size_t>(variable.shape.size()),
                                                  hidden_bias ? 0.0F : 2.0F));
  }
  return session;
}

}  // namespace

void readme_eigen() {
  Session session = readme_session();
#include "readme_eigen.inc"
  expect(logits == Eigen::MatrixXf::Constant(128, 10, 2), "logits of 2");
  expect(weight == Eigen::MatrixXf::Constant(512, 784, 2), "weights of 2");
  expect(session.get("fc1.weight") == std::vector<float>(784 * 512, 1), "halved weights");
  expect(result["correct"].scalar() == 128, "the first of equal logits to count");
}

void readme_xtensor() {
  Session session = readme_session();
#include "readme_xtensor.inc"
  expect(logits == 2.0F * xt::ones<float>({128, 10}), "logits of 2");
  expect(weight == 2.0F * xt::ones<float>({512, 784}), "weights of 2");
  expect(session.get("fc1.weight") == std::vector<float>(784 * 512, 1), "halved weights");
  expect(result["correct"].scalar() == 128, "the first of equal logits to count");
}
