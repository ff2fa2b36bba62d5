// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// What a worker has of its own while it runs a tile: results that only the tile's ops read, and scratch.
#include "catch.hpp"
#include "panels_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

using namespace panels;
using Catch::Matchers::ContainsSubstring;

namespace {

/// So slow that small products have many tiles.
Fabric slow_host() {
  Fabric host = Fabric::host();
  host.flops = 1e6;
  host.memory_rate = 1e6;
  return host;
}

/// Adds 1; in between it writes over all the scratch that it is given.
struct Scribble {
  static constexpr std::string_view name = "test.scribble";
  static constexpr bool can_fail = false;
  static constexpr Index kBytes = 1000;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return in; }
  AxesRule axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }
  void run(const Context& context, Tiles in, Tiles out) const {
    std::fill_n(static_cast<std::byte*>(context.scratch), context.scratch_bytes, std::byte{0x7F});
    for_each_index(out[0].rank, out[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = element<float>(in[0], index) + 1;
    });
  }
  Kernels kernels(const Types&) const {
    return {{[](const void* op, const Context& context, Tiles in, Tiles out) {
               static_cast<const Scribble*>(op)->run(context, in, out);
             },
             kBytes}};
  }
};

}  // namespace

TEST_CASE("a gradient in panels whose tiles are of one row updates weights that have several") {
  const auto trained = [](const Fabric& fabric, Index threads) {
    Sources sources(2);
    const Tensor x = sources.x(3);
    const Tensor loss = sources.loss(matmul(x, sources.weight("w", 3, 320)) | Tanh{});
    const Executable executable =
        compile({{"train", minimize(loss, AdamW{.lr = 0.01}).fetch("loss", loss)}}, fabric, {.threads = 2});
    if (fabric.shared_memory) {
      CHECK(in_panels(executable));
      CHECK_THAT(executable.plan().dump("memory"),
                 ContainsSubstring("f32[3, 320] of op 'wafer.matmul', in a tile"));
      CHECK_THAT(executable.plan().dump("tiling"), ContainsSubstring("tiles 3 of 1 x 5 of 64"));
    }
    return train(executable, threads, sources.floats, {2, 2, 1, 2});
  };
  const Floats expected = trained(Fabric::mesh(1, 1), 1);
  for (const Index threads : {1, 2, 3}) CHECK(trained(slow_host(), threads) == expected);
}

TEST_CASE("a tail has scratch beside that of its product") {
  // So deep and high that the product's packed panel serves several pieces.
  constexpr Index kRows = 256, kDepth = 64, kColumns = 37;
  Graph g;
  const Axis b = g.axis("batch", kRows);
  const Tensor x = g.input("x", {b, kDepth});
  const Tensor product = matmul(x, parameter(g, "w", {kDepth, kColumns}, Init::uniform(1)));
  const Tensor scribbled = product | Scribble{};
  const Executable executable =
      compile(fetch("scribbled", scribbled).fetch("product", product), Fabric::host(), {.threads = 1});
  CHECK_THAT(executable.plan().dump("fusion"), ContainsSubstring("'wafer.matmul' + op 'test.scribble'"));
  Session session{executable, {.threads = 1}};
  const Result result = session.step({{"x", ramp(kRows * kDepth, 1)}});
  const auto plain = result["product"].values<float>(), more = result["scribbled"].values<float>();
  const Floats w = session.get("w");
  float sum = 0;
  const Floats last = ramp(kRows * kDepth, 1);
  for (Index k = 0; k < kDepth; ++k)
    sum += last[static_cast<std::size_t>((kRows - 1) * kDepth + k)] *
           w[static_cast<std::size_t>((k + 1) * kColumns - 1)];
  CHECK(plain.back() == Approx(sum).margin(1e-4));
  CHECK(std::equal(plain.begin(), plain.end(), more.begin(), [](float p, float m) { return p + 1 == m; }));
}

TEST_CASE(
    "tails of a product whose result is read elsewhere keep nothing in a tile, which may be all of it") {
  constexpr Index kRows = 64, kColumns = 2048, kWhole = kRows * kColumns * 4;
  const auto compiled = [](bool read_elsewhere) {
    Graph g;
    const Tensor x = g.input("x", {g.axis("batch", kRows), 8});
    const Tensor product = matmul(x, parameter(g, "w", {8, kColumns}, Init::uniform(1)));
    const Tensor larger = where(less(product, tanh(product)), product, square(product));
    Request request = fetch("sums", sum(larger, {0}));
    if (read_elsewhere) request = std::move(request).fetch("sum", sum(product));
    return compile(request, Fabric::host(), {.threads = 1});
  };
  const Executable small = compiled(false), whole = compiled(true);
  CHECK_THAT(small.plan().dump("memory"), ContainsSubstring("in a tile"));
  CHECK_THAT(whole.plan().dump("memory"), !ContainsSubstring("in a tile"));
  CHECK(small.plan().scratch_bytes() - whole.plan().scratch_bytes() > 0);
  CHECK(small.plan().scratch_bytes() - whole.plan().scratch_bytes() < kWhole);
}
