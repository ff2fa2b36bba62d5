// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/compiler/choices.hpp>

#include <algorithm>
#include <string>

using namespace faulty;

namespace {

/// The heads of a plan's step with their tails, one to a line.
std::string fusion_of(const Executable& executable) { return executable.plan().dump("fusion"); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Built {
  Graph g;
  Axis b = g.axis("batch", 8);
  Tensor x = g.input("x", {b, 6});
  Tensor label = g.input("label", {b}, DType::i32);
};

std::vector<float> ramp(std::size_t size) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(i % 13) / 8 - 0.75F;
  return out;
}

const std::vector<std::int32_t> kLabels{0, 2, 1, 1, 0, 2, 2, 0};

}  // namespace

TEST_CASE("bias, activation, mask, sums of rows and updates are tails of their products") {
  Built m;
  const Tensor loss = m.x | nn::Linear{16, "fc1"} | Relu{} | nn::Linear{3, "head"} | cross_entropy(m.label);
  const Executable e = compile({{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9})}}, Fabric::host());
  CHECK(fusion_of(e) ==
        "step 'train'\n"
        "  op 'wafer.matmul' at 'fc1' + op 'wafer.add' at 'fc1' + op 'wafer.relu'\n"
        "  op 'wafer.matmul' at 'head' + op 'wafer.add' at 'head'\n"
        "  op 'wafer.matmul' at 'head' + op 'wafer.relu_gradient' + op 'wafer.sum' at 'fc1'\n"
        "  op 'wafer.matmul' at 'head' + op 'wafer.sgd_update' at 'optimizer.head.weight'\n"
        "  op 'wafer.matmul' at 'fc1' + op 'wafer.sgd_update' at 'optimizer.fc1.weight'\n");
}

TEST_CASE("rows that follow an axis of extent 1 are no piece of a product whose single row does not") {
  Graph g;
  const Axis b = g.axis("batch", 1);
  const Tensor x = g.input("x", {b, 1});
  const Tensor product = apply(RowProduct{}, {x, x * parameter(g, "u", {3}, Init::constant(1))}).at(0);
  const Tensor rows = apply(BroadcastLike{}, {x, product}).at(0);
  Session session{compile({{"", fetch("y", sum(rows, {0}))}}, Fabric::host()), {.threads = 1}};
  const auto y = [&](Index batch) {
    const std::vector<float> values(static_cast<std::size_t>(batch), 5);
    const Result result = session.step({{"x", values, Shape{batch, 1}}});
    const auto got = result["y"].values<float>();
    return std::vector<float>(got.begin(), got.end());
  };
  CHECK(y(1) == std::vector<float>(3, 5));
  CHECK(y(0) == std::vector<float>(3, 0));
}

TEST_CASE("a mesh has no tails: its blocks' results are moved before they are read") {
  Built m;
  const Tensor loss = m.x | nn::Linear{16, "fc1"} | Relu{} | nn::Linear{3, "head"} | cross_entropy(m.label);
  const Executable e = compile({{"train", minimize(loss, SGD{.lr = 0.1})}}, Fabric::mesh(1, 1));
  CHECK(fusion_of(e) == "step 'train'\n");
}

TEST_CASE("updates wait for the end where something may still fail or veto, or the batch comes in parts") {
  Built m;
  SECTION("an op of a user's, whose gradient comes after those of later layers") {
    const Tensor loss =
        m.x | nn::Linear{16, "fc1"} | Meddle{} | nn::Linear{3, "head"} | cross_entropy(m.label);
    // It is used again in the backward pass of nothing: only its forward can fail.
    const Executable e =
        compile({{"train", minimize(loss, SGD{.lr = 0.1}).fetch("loss", loss)}}, Fabric::host());
    CHECK(has(fusion_of(e), "'optimizer.head.weight'"));
    // Where its result is fetched through another such op, that one runs before the updates too, or they
    // wait.
    const Executable later =
        compile({{"train", minimize(loss, SGD{.lr = 0.1}).fetch("loss", loss | Meddle{})}}, Fabric::host());
    Session session{later, {.threads = 2}};
    const auto before = session.get("head.weight");
    plot().act = [](Index) { throw Fault("late", nullptr); };
    CHECK_THROWS(session.step("train", {{"x", ramp(48)}, {"label", kLabels}}));
    plot().act = {};
    CHECK(session.get("head.weight") == before);
  }
  SECTION("clipping reads all gradients before any update") {
    const Tensor loss = m.x | nn::Linear{3, "head"} | cross_entropy(m.label);
    const Executable e = compile({{"train", minimize(loss, SGD{.lr = 0.1}).clip_norm(1)}}, Fabric::host());
    CHECK_FALSE(has(fusion_of(e), "optimizer."));
  }
  SECTION("micro-batches") {
    const Tensor loss = m.x | nn::Linear{3, "head"} | cross_entropy(m.label);
    const Executable e =
        compile({{"train", minimize(loss, SGD{.lr = 0.1})}}, Fabric::host(), {.micro_batches = 2});
    CHECK_FALSE(has(fusion_of(e), "optimizer."));
    CHECK(has(fusion_of(e), "+ op 'wafer.add' at 'head'"));
  }
  SECTION("micro-batches, but the gradient follows from a sum over all of them") {
    const Tensor v = parameter(m.g, "v", {6, 4}, Init::uniform(1));
    const Tensor w = parameter(m.g, "w", {4, 3}, Init::uniform(1));
    const Tensor loss = matmul(m.x, matmul(v, w)) | cross_entropy(m.label);
    const auto build = [&](Index micro_batches) {
      return compile({{"train", minimize(loss, SGD{.lr = 0.1})}}, Fabric::host(),
                     {.micro_batches = micro_batches, .threads = 2});
    };
    const Executable parts = build(2);
    CHECK(has(fusion_of(parts), "+ op 'wafer.sgd_update' at 'optimizer.w'"));
    Session whole{build(1), {.threads = 2}}, in_parts{parts, {.threads = 2}};
    for (int step = 0; step < 2; ++step) {
      for (Session* session : {&whole, &in_parts})
        session->step("train", {{"x", ramp(48)}, {"label", kLabels}});
    }
    CHECK(variables(whole) == variables(in_parts));
  }
  SECTION("a weight that is read again after its gradient") {
    // Used twice: its gradient is a sum of two products.
    const Tensor w = parameter(m.g, "w", {6, 6}, Init::uniform(1));
    const Tensor h = matmul(relu(matmul(m.x, w)), w);
    const Executable e = compile({{"train", minimize(mean(square(h)), SGD{.lr = 0.1})}}, Fabric::host());
    CHECK_FALSE(has(fusion_of(e), "optimizer.w"));
  }
  SECTION("a parameter that is fetched as it was before the step") {
    const Tensor w = parameter(m.g, "w", {6, 3}, Init::uniform(1));
    const Tensor loss = matmul(m.x, w) | cross_entropy(m.label);
    const Executable e =
        compile({{"train", minimize(loss, SGD{.lr = 0.5}).fetch("w", w * 1.0)}}, Fabric::host());
    Session session{e, {.threads = 1}};
    const std::vector<float> before = session.get("w");
    const Result result = session.step("train", {{"x", ramp(48)}, {"label", kLabels}});
    const auto fetched = result["w"].values<float>();
    CHECK(std::equal(fetched.begin(), fetched.end(), before.begin(), before.end()));
    CHECK(session.get("w") != before);
  }
}

TEST_CASE("a failure in a later micro-batch changes nothing, also where a gradient needs no batch") {
  Built m;
  const Tensor w = parameter(m.g, "w", {6, 6}, Init::uniform(1));
  // The gradient of the second term is a product of weights alone.
  const Tensor loss = mean(square(matmul(m.x, parameter(m.g, "v", {6, 3}, Init::uniform(1)) | Meddle{}))) +
                      sum(square(matmul(parameter(m.g, "u", {5, 6}, Init::uniform(1)), w)));
  const auto build = [&](Index micro_batches) {
    return compile({{"train", minimize(loss, SGD{.lr = 0.01}).fetch("loss", loss)}}, Fabric::host(),
                   {.micro_batches = micro_batches});
  };
  Session one{build(1), {.threads = 2}}, four{build(4), {.threads = 2}};
  for (int step = 0; step < 2; ++step) {
    for (Session* session : {&one, &four}) session->step("train", {{"x", ramp(48)}});
  }
  CHECK(variables(one) == variables(four));
  const auto before = variables(four);
  int calls = 0;
  plot().act = [&](Index) {
    if (++calls > 3) throw Fault("in a later micro-batch", nullptr);
  };
  Session alone{build(4), {.threads = 1}};
  const auto fresh = variables(alone);
  CHECK_THROWS(alone.step("train", {{"x", ramp(48)}}));
  plot().act = {};
  CHECK(variables(alone) == fresh);
}

namespace {

/// Says that it cannot fail, and does where it is told to.
struct Liar {
  static constexpr std::string_view name = "test.liar";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context&, Tiles in, Tiles out) const {
    if (plot().act) plot().act(0);
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = element<float>(in[0], index);
    });
  }
};

}  // namespace

TEST_CASE("a user's op may be a tail, and one that breaks its promise leaves the session usable") {
  Built m;
  const Tensor y = m.x | nn::Linear{16, "fc1"} | Liar{};
  const Executable e =
      compile({{"tail", fetch("y", y)},
               {"plain", fetch("z", matmul(m.x, parameter(m.g, "w", {6, 40}, Init::uniform(1))))}},
              Fabric::host());
  CHECK(has(fusion_of(e), "+ op 'test.liar'"));
  Session session{e, {.threads = 1}};
  const auto run = [&](const char* step, const char* what) {
    const Result result = session.step(step, {{"x", ramp(48)}});
    const auto values = result[what].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> y_before = run("tail", "y"), z_before = run("plain", "z");
  plot().act = [](Index) { throw Fault("a broken promise", nullptr); };
  CHECK_THROWS(run("tail", "y"));
  plot().act = {};
  CHECK(run("plain", "z") == z_before);
  CHECK(run("tail", "y") == y_before);
}

TEST_CASE("a stop counts until the first update may have run, and not after") {
  Built m;
  const Tensor loss = m.x | nn::Linear{3, "head"} | cross_entropy(m.label);
  const Executable e = compile({{"train", minimize(loss, SGD{.lr = 0.5})}}, Fabric::host());
  Session session{e, {.threads = 1}};
  struct Stop {
    mutable int asked = 0;
    int after;
    bool stop_requested() const { return ++asked > after; }
  };
  const std::vector<float> before = session.get("head.weight");
  // The label check is the last action that can fail: a request that comes up after it is not even looked at.
  bool finished = false;
  for (int after = 0; after < 100 && !finished; ++after) {
    const Stop stop{0, after};
    try {
      session.step("train", {{"x", ramp(48)}, {"label", kLabels}}, stop);
      finished = true;
      CHECK(session.get("head.weight") != before);
    } catch (const RunError&) {
      CHECK(session.get("head.weight") == before);
    }
  }
  CHECK(finished);
}

TEST_CASE("tails have the bits of ops that run one after the other, whatever is tiled") {
  // The same network on a host (tails) and on a mesh of one block (none), over shapes that end within
  // vectors, panels and tiles of rows.
  for (const Index width : {1, 7, 16, 33, 130}) {
    for (const Index batch : {1, 5, 8}) {
      const auto build = [&](const Fabric& fabric) {
        Graph g;
        const Axis b = g.axis("batch", 8);
        const Tensor x = g.input("x", {b, 6});
        const Tensor label = g.input("label", {b}, DType::i32);
        const Tensor h = x | nn::Linear{width, "fc1"} | Gelu{};
        const Tensor loss =
            (h + sigmoid(h | nn::Linear{width, "fc2"})) | nn::Linear{3, "head"} | cross_entropy(label);
        return compile({{"train", minimize(loss, AdamW{.lr = 0.1}).fetch("loss", loss)}}, fabric,
                       {.threads = 3});
      };
      Session with{build(Fabric::host()), {.threads = 3}}, without{build(Fabric::mesh(1, 1)), {.threads = 1}};
      const std::vector<float> x = ramp(static_cast<std::size_t>(batch * 6));
      const std::vector<std::int32_t> label(kLabels.begin(), kLabels.begin() + batch);
      for (int step = 0; step < 3; ++step) {
        with.step("train", {{"x", x}, {"label", label}});
        without.step("train", {{"x", x}, {"label", label}});
      }
      INFO("width " << width << ", batch " << batch);
      CHECK(variables(with) == variables(without));
    }
  }
}
