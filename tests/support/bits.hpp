// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"

#include <wafer/testing/hooks.hpp>
#include <wafer/wafer.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Trains one network under many plans; all of them must end with the same bits.
namespace bits {

using namespace wafer;

/// One way to run it.
struct Case {
  bool adamw = false;  ///< AdamW with clipping, or SGD with momentum
  Index rows = 0;      ///< of the mesh; 0: host
  Index columns = 0;
  std::string batch;    ///< "", "rows" or "columns": where a hint cuts the batch
  std::string feature;  ///< where a hint cuts the first hidden layer
  Index micro_batches = 1;
  Index threads = 1;
  KernelTarget target = KernelTarget::automatic;

  std::string text() const {
    return std::string(adamw ? "adamw" : "sgd") + " " +
           (rows == 0 ? "host" : std::to_string(rows) + "x" + std::to_string(columns)) + " micro_batches " +
           std::to_string(micro_batches) + " threads " + std::to_string(threads) + " " +
           std::string(name_of(target));
  }
};

struct Outcome {
  std::uint64_t hash = 0;      ///< of all weights
  std::vector<float> weights;  ///< of all parameters, one after the other
  Index threads = 0;           ///< distinct ones that took part in the first step
  Index blocks = 0;            ///< that computed
  Index idle = 0;              ///< blocks of the mesh that did not
  Index moved_bytes = 0;       ///< between arenas
  std::string cuts;            ///< as the plan says
  double loss = 0;
};

inline Mesh direction(const std::string& name) { return name == "rows" ? Mesh::rows : Mesh::columns; }

inline Executable compile_case(const Case& c) {
  Graph g;
  Axis b = g.axis("batch", 128);
  Tensor image = g.input("image", {b, 784});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor hidden = image | nn::Linear{512, "fc1"} | Relu{};
  Tensor logits = hidden | nn::Linear{512, "fc2"} | Relu{} | nn::Linear{10, "head"};
  Tensor loss = logits | cross_entropy(label);
  if (!c.batch.empty()) image.split(b, direction(c.batch));
  if (!c.feature.empty()) hidden.split(-1, direction(c.feature));
  Request request = c.adamw ? minimize(loss, AdamW{.lr = 1e-3, .decayed = every_parameter}).clip_norm(1.0)
                            : minimize(loss, SGD{.lr = 0.05, .momentum = 0.9});
  Options options;
  options.micro_batches = c.micro_batches;
  options.threads = c.threads;
  options.kernel_target = c.target;
  return compile({{"train", std::move(request).fetch("loss", loss)}},
                 c.rows == 0 ? Fabric::host() : Fabric::mesh(c.rows, c.columns), options);
}

/// Inputs by a formula: step and element decide.
inline void fill_batch(Index step, std::vector<float>& image, std::vector<std::int32_t>& label) {
  for (std::size_t i = 0; i < image.size(); ++i) {
    const auto mixed =
        (static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(step) * 7919U) * 2654435761U;
    image[i] = static_cast<float>((mixed >> 8) & 0xffffU) / 65536.0F;
  }
  for (std::size_t i = 0; i < label.size(); ++i)
    label[i] = static_cast<std::int32_t>((i * 7 + static_cast<std::size_t>(step)) % 10);
}

inline std::vector<float> weights_of(const Session& session) {
  std::vector<float> out;
  for (const VariableDescription& variable : session.variables()) {
    if (!variable.trained) continue;
    const std::vector<float> values = session.get(variable.path);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

inline std::uint64_t hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a over words
  for (float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211ULL;
  return hash;
}

inline Outcome run_case(const Case& c, Index steps) {
  const Executable executable = compile_case(c);
  Session session{executable, {.threads = c.threads}};
  std::optional<Gathering> gathering(std::in_place, session);  // of the first step
  std::vector<float> image(128 * 784);
  std::vector<std::int32_t> label(128);
  Outcome out;
  for (Index step = 0; step < steps; ++step) {
    fill_batch(step, image, label);
    out.loss = session.step({{"image", image}, {"label", label}})["loss"].scalar();
    if (!gathering) continue;
    out.threads = gathering->threads();
    gathering.reset();
  }
  const RunStatistics stats = statistics(session);
  out.weights = weights_of(session);
  out.hash = hash_of(out.weights);
  out.blocks = stats.blocks;
  out.idle = c.rows == 0 ? 0 : c.rows * c.columns - stats.blocks;
  out.moved_bytes = stats.moved_bytes;
  const std::string text = executable.plan().text();
  const std::size_t at = text.find("micro-batches");
  const std::size_t comma = text.find(", ", at), end = text.find('\n', at);
  out.cuts = comma < end ? text.substr(comma + 2, end - comma - 2) : "nothing cut";
  return out;
}

/// A mesh, and where hints cut on it.
struct Layout {
  Index rows, columns;
  std::string batch, feature;
};

/// Twelve different plans for one optimizer.
inline std::vector<Case> chosen_cases(bool adamw) {
  return {
      {adamw, 0, 0, "", "", 1, 1},
      {adamw, 0, 0, "", "", 8, 3},
      {adamw, 1, 1, "", "", 2, 2},
      {adamw, 2, 2, "rows", "columns", 1, 1},
      {adamw, 2, 2, "columns", "rows", 4, 8},
      {adamw, 2, 2, "", "columns", 1, 2},
      {adamw, 2, 2, "rows", "", 2, 3},
      {adamw, 4, 4, "rows", "columns", 8, 2},
      {adamw, 1, 7, "columns", "", 1, 3},
      {adamw, 1, 7, "", "columns", 8, 1},
      {adamw, 7, 1, "rows", "", 4, 2},
      {adamw, 3, 5, "rows", "columns", 3, 8},
  };
}

/// Those kernel targets that this CPU has, with fused multiply-add or without.
inline std::vector<KernelTarget> targets(bool fused) {
  std::vector<KernelTarget> out;
  std::copy_if(
      kernels::kTargets.begin(), kernels::kTargets.end(), std::back_inserter(out),
      [&](KernelTarget target) { return kernels::supports(target) && kernels::fuses(target) == fused; });
  return out;
}

/// Threads 1, 2, 3, 8 x host, 1x1, 2x2, 4x4, 1x7 x micro-batches 1, 2, 4, 8 for one optimizer.
inline std::vector<Case> all_cases(bool adamw) {
  std::vector<Case> out;
  for (Index micro : {1, 2, 4, 8}) {
    const bool few = micro <= 2;
    const std::vector<Layout> layouts{{0, 0, "", ""},
                                      {1, 1, "", ""},
                                      {2, 2, "rows", "columns"},
                                      {4, 4, few ? "rows" : "columns", few ? "columns" : "rows"},
                                      {1, 7, few ? "columns" : "", few ? "" : "columns"}};
    for (const Layout& layout : layouts) {
      for (Index threads : {1, 2, 3, 8}) {
        out.push_back({adamw, layout.rows, layout.columns, layout.batch, layout.feature, micro, threads});
      }
    }
  }
  return out;
}

}  // namespace bits
