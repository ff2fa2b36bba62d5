// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catch.hpp"

#include "../unit/temp_folder.hpp"

#include <wafer/wafer.hpp>

#include <string>
#include <vector>

namespace error_test {

using namespace wafer;
using wafer_test::message_of;
using wafer_test::TempFolder;

/// That `action` throws an E whose message has all the parts.
template <class E, class F>
void expect_message(const F& action, const std::vector<std::string>& parts) {
  const std::string message = message_of<E>(action);
  for (const std::string& part : parts) CHECK_THAT(message, Catch::Matchers::ContainsSubstring(part));
}

/// A network on batches of up to 4 rows of 5 features, with 3 classes.
struct Network {
  Graph graph;
  Axis batch = graph.axis("batch", 4);
  Tensor x = graph.input("x", {batch, 5});
  Tensor label = graph.input("label", {batch}, DType::i32);
  Tensor hidden = x | nn::Linear{8, "fc1"} | Relu{};
  Tensor logits = hidden | nn::Linear{3, "head"};
  Tensor loss = logits | in_scope("score", cross_entropy(label));

  std::vector<NamedRequest> requests() const {
    return {{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9}).fetch("loss", loss)},
            {"predict", fetch("logits", logits)}};
  }
};

inline const std::vector<float>& features() {
  static const std::vector<float> values = [] {
    std::vector<float> out;
    for (int i = 0; i < 20; ++i) out.push_back(static_cast<float>(i % 7) - 2.5F);
    return out;
  }();
  return values;
}
inline const std::vector<std::int32_t>& labels() {
  static const std::vector<std::int32_t> values{0, 1, 2, 1};
  return values;
}

inline void train(Session& session) { session.step("train", {{"x", features()}, {"label", labels()}}); }

inline std::vector<std::vector<float>> variables(const Session& session) {
  std::vector<std::vector<float>> out;
  for (const VariableDescription& variable : session.variables()) out.push_back(session.get(variable.path));
  return out;
}

/// That nothing has changed through what failed, and that a good step gives the bits that it would have
/// given.
class Unharmed {
 public:
  explicit Unharmed(Session& session, const Executable& executable)
      : session_(session), good_{executable, {.threads = 1}} {
    train(session_);
    train(good_);
  }
  void check() {
    CHECK(variables(session_) == variables(good_));
    CHECK(session_.steps() == good_.steps());
    train(session_);
    train(good_);
    CHECK(variables(session_) == variables(good_));
  }

 private:
  Session& session_;
  Session good_;
};

}  // namespace error_test
