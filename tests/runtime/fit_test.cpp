// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Plans that fit a limit of memory: where the fastest one does not, the next one does.
#include "catch.hpp"

#include <wafer/wafer.hpp>

#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr Index kBatch = 64;  // so that what a micro-batch needs is much of the memory

Executable compiled(const Fabric& fabric, const Options& options = {}) {
  Graph g;
  const Axis b = g.axis("batch", kBatch);
  const Tensor x = g.input("x", {b, 12});
  const Tensor label = g.input("label", {b}, DType::i32);
  const Tensor logits =
      x | nn::Linear{48, "fc1"} | Relu{} | nn::Linear{24, "fc2"} | Relu{} | nn::Linear{4, "head"};
  const Tensor loss = logits | cross_entropy(label);
  return compile({{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9}).fetch("loss", loss)},
                  {"eval", fetch("logits", logits)}},
                 fabric, options);
}

std::string choices_of(const Executable& executable) {
  const std::string text = executable.plan().text();
  const std::size_t at = text.find("choices");
  return text.substr(at, text.find('\n', at) - at);
}

std::vector<float> trained_weight(const Executable& executable) {
  std::vector<float> x;
  std::vector<std::int32_t> label;
  for (Index i = 0; i < kBatch * 12; ++i) x.push_back(static_cast<float>((i * 29) % 17) / 9.0F - 0.75F);
  for (Index i = 0; i < kBatch; ++i) label.push_back(static_cast<std::int32_t>(i % 4));
  Session session{executable, {.threads = 2}};
  for (int k = 0; k < 3; ++k) session.step("train", {{"x", x}, {"label", label}});
  return session.get("fc1.weight");
}

}  // namespace

TEST_CASE("where the fastest plan does not fit a mesh's SRAM, another one is taken") {
  const Fabric mesh = Fabric::mesh(2, 2);
  const Executable fastest = compiled(mesh);
  const std::vector<float> expected = trained_weight(fastest);
  // Each limit is one byte below what the plan before needs, down to where none fits.
  Index limit = fastest.plan().sram_bytes() - 1;
  int fits = 0;
  std::string message;
  while (message.empty()) {
    try {
      const Executable next = compiled(mesh, {.sram_limit = limit});
      CHECK(next.plan().sram_bytes() <= limit);
      CHECK(choices_of(next) != choices_of(fastest));
      CHECK(trained_weight(next) == expected);
      limit = next.plan().sram_bytes() - 1;
      ++fits;
    } catch (const CompileError& error) {
      message = error.what();
    }
  }
  CHECK(fits >= 3);
  // The closest one is the last that fitted.
  CHECK_THAT(message,
             Catch::Matchers::ContainsSubstring("at most " + std::to_string(limit) + " bytes of SRAM") &&
                 Catch::Matchers::ContainsSubstring("got " + std::to_string(limit + 1)));
  // The same limit as the fabric's own.
  CHECK(choices_of(compiled(Fabric::mesh(2, 2, {.sram = limit + 1}))) ==
        choices_of(compiled(mesh, {.sram_limit = limit + 1})));
}

TEST_CASE("where the batch in one piece does not fit a host, it runs in micro-batches") {
  const Executable whole = compiled(Fabric::host());
  CHECK_THAT(choices_of(whole), Catch::Matchers::EndsWith("micro-batches 1"));
  const Index need = whole.plan().dram_bytes();
  const Executable parts = compiled(Fabric::host(), {.dram_limit = need - 1});
  CHECK(choices_of(parts) != choices_of(whole));
  CHECK_THAT(choices_of(parts), Catch::Matchers::ContainsSubstring("micro-batches"));
  CHECK(parts.plan().dram_bytes() < need);
  CHECK(trained_weight(parts) == trained_weight(whole));
  // What a hint forces is kept.
  CHECK_THROWS_AS(compiled(Fabric::host(), {.micro_batches = 1, .dram_limit = need - 1}), CompileError);
}
