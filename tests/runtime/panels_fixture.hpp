// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>
#include <wafer/wafer.hpp>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Networks with weights that may be stored in panels, and what their training ends with.
namespace panels {

using namespace wafer;
using Floats = std::vector<float>;

/// What a network is made from: inputs "x", of the extents that it wants, and "label".
struct Sources {
  Graph g;
  Axis batch;
  Index floats = 0;  ///< of x for each of the batch
  Sources() : Sources(24) {}
  explicit Sources(Index examples) : batch(g.axis("batch", examples)) {}

  Tensor x(Index features) {
    floats = features;
    return g.input("x", {batch, features});
  }
  Tensor x(Index times, Index features) {
    floats = times * features;
    return g.input("x", {batch, times, features});
  }
  Tensor weight(const std::string& name, Index rows, Index cols) {
    return parameter(g, name, {rows, cols}, Init::uniform(0.2));
  }
  /// The mean of the cross-entropy of ten classes.
  Tensor loss(const Tensor& hidden) {
    return hidden | nn::Linear{10, "head"} | cross_entropy(g.input("label", {batch}, DType::i32));
  }
};

struct Network {
  std::string name;
  std::function<Tensor(Sources&)> loss;
  bool in_panels = true;  ///< something is
};

inline Floats ramp(Index size, Index shift) {
  Floats out(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>((i * 29 + static_cast<std::size_t>(shift) * 17) % 61) / 64 - 0.4F;
  return out;
}

inline std::vector<std::int32_t> classes(Index size, Index shift) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int32_t>((i * 7 + static_cast<std::size_t>(shift)) % 10);
  return out;
}

/// All variables, one after the other, each led by its size.
inline Floats variables(const Session& session) {
  Floats out;
  for (const VariableDescription& variable : session.variables()) {
    const Floats values = session.get(variable.path);
    out.push_back(static_cast<float>(values.size()));
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

inline bool in_panels(const Executable& executable) {
  return executable.plan().dump("layout").find(" in panels of ") != std::string::npos;
}

/// Some steps on batches of several sizes; then the losses and all variables.
inline Floats train(const Executable& executable, Index threads, Index floats,
                    const std::vector<Index>& batches = {24, 24, 7, 24, 1}) {
  Session session{executable, {.threads = threads, .seed = 5}};
  Floats out;
  Index step = 0;
  for (const Index batch : batches) {
    const Result result =
        session.step("train", {{"x", ramp(batch * floats, step)}, {"label", classes(batch, step)}});
    out.push_back(static_cast<float>(result["loss"].scalar()));
    ++step;
  }
  const Floats all = variables(session);
  out.insert(out.end(), all.begin(), all.end());
  return out;
}

struct Trained {
  bool in_panels = false;
  Floats numbers;
};

inline Trained train(const Network& network, const Optimizer& optimizer, Options options,
                     double clip_norm = 0, const Fabric& fabric = Fabric::host()) {
  Sources sources;
  const Tensor loss = network.loss(sources);
  Request request = minimize(loss, optimizer).fetch("loss", loss);
  if (clip_norm > 0) request = std::move(request).clip_norm(clip_norm);
  const Executable executable = compile({{"train", request}}, fabric, options);
  return {in_panels(executable), train(executable, std::max<Index>(1, options.threads), sources.floats)};
}

}  // namespace panels
