// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/wafer.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAFER_TEST_TSAN true
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WAFER_TEST_TSAN true
#endif
#if !defined(WAFER_TEST_TSAN)
#define WAFER_TEST_TSAN false
#endif

// A small network with an op of a user's own in it, which does what a test tells it to.
namespace faulty {

using namespace wafer;

/// What the op throws: a type that the library does not know.
struct Fault : std::runtime_error {
  Fault(const std::string& message, const void* made_by) : std::runtime_error(message), token(made_by) {}
  const void* token;
};

/// Where the op of all tests asks what to do. Set it while no step runs.
struct Plot {
  std::function<void(Index row)> act;  ///< called by workers for each row
};
inline Plot& plot() {
  static Plot instance;
  return instance;
}

/// Passes its input on, row by row.
struct Meddle {
  static constexpr std::string_view name = "test.meddle";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles in, Tiles out) const {
    for (Index row = 0; row < in[0].extent[0] && plot().act; ++row) plot().act(in[0].origin[0] + row);
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = element<float>(in[0], index);
    });
  }
  Gradients gradient(Inputs, Outputs, Cotangents cotangents) const { return {cotangents[0]}; }
};

inline constexpr bool kThreadSanitizer = WAFER_TEST_TSAN;  // this is built with it
inline constexpr Index kBatch = 7, kFeatures = 6, kClasses = 3;

/// How to cut it.
struct Layout {
  Index rows = 0, columns = 0;  ///< 0: host
  bool cut_batch = false, cut_hidden = false;
  Index micro_batches = 1;
  std::string text() const {
    return (rows == 0 ? std::string("host") : std::to_string(rows) + "x" + std::to_string(columns)) +
           (cut_batch ? " batch" : "") + (cut_hidden ? " hidden" : "") + " micro_batches " +
           std::to_string(micro_batches);
  }
};

/// Steps "train" (AdamW with clipping) and "eval" of a network 6-16-8-3 for batches of up to 7.
inline Executable compile_network(const Layout& layout = {}) {
  Graph g;
  const Axis b = g.axis("batch", kBatch);
  const Tensor x = g.input("x", {b, kFeatures});
  const Tensor label = g.input("label", {b}, DType::i32);
  const Tensor hidden = x | nn::Linear{16, "fc1"} | Gelu{};
  const Tensor logits =
      hidden | in_scope("user", Meddle{}) | nn::Linear{8, "fc2"} | Relu{} | nn::Linear{kClasses, "head"};
  const Tensor loss = logits | cross_entropy(label);
  if (layout.cut_batch) x.split(b, layout.rows > 1 ? Mesh::rows : Mesh::columns);
  if (layout.cut_hidden) hidden.split(-1, Mesh::columns);
  Options options;
  options.micro_batches = layout.micro_batches;
  return compile(
      {{"train", minimize(loss, AdamW{.lr = 0.01}).clip_norm(0.5).fetch("loss", loss)},
       {"eval", fetch("loss", loss).fetch("logits", logits).fetch("correct", count_correct(logits, label))}},
      layout.rows == 0 ? Fabric::host() : Fabric::mesh(layout.rows, layout.columns), options);
}

/// One batch of a given extent by a formula.
struct Rows {
  explicit Rows(Index rows = kBatch, Index number = 0) {
    for (Index i = 0; i < rows * kFeatures; ++i)
      x.push_back(static_cast<float>((i * 37 + number * 11) % 23) / 8.0F - 1.25F);
    for (Index i = 0; i < rows; ++i) label.push_back(static_cast<std::int32_t>((i * 5 + number) % kClasses));
  }
  std::vector<float> x;
  std::vector<std::int32_t> label;
};

inline Result train(Session& session, const Rows& batch, StopRequest stop = {}) {
  return session.step("train", {{"x", batch.x}, {"label", batch.label}}, stop);
}
inline Result eval(Session& session, const Rows& batch) {
  return session.step("eval", {{"x", batch.x}, {"label", batch.label}});
}

/// All variables: weights and what the optimizer keeps.
inline std::vector<std::vector<float>> variables(const Session& session) {
  std::vector<std::vector<float>> out;
  for (const VariableDescription& variable : session.variables()) out.push_back(session.get(variable.path));
  return out;
}

/// Ends the program where the guarded scope takes longer than its seconds: a hang would block all tests.
class Watchdog {
 public:
  explicit Watchdog(const char* what, int seconds = 10)
      : thread_([this, what, seconds] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::seconds(seconds), [this] { return finished_; })) return;
          std::fprintf(stderr, "hangs: %s\n", what);
          std::_Exit(1);
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    done_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool finished_ = false;
  std::thread thread_;
};

/// Lets the op act for as long as it lives.
class Acting {
 public:
  explicit Acting(std::function<void(Index row)> act) { plot().act = std::move(act); }
  ~Acting() { plot().act = nullptr; }
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;
};

}  // namespace faulty
