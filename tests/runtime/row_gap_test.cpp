// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Rows of temporaries that would lie a multiple of 4096 bytes apart, and temporaries that are kept in a tile:
// a host lays them out with gaps and for one tile, a mesh densely and whole.
#include "catch.hpp"

#include <wafer/wafer.hpp>

#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr Index kBatch = 5, kTime = 3, kIn = 7, kWidth = 1024;

// Rank 3, so that gradients of weights are products of rows.
Executable compiled(const Fabric& fabric, Index threads, Index micro_batches) {
  Graph g;
  const Axis b = g.axis("batch", kBatch);
  const Tensor x = g.input("x", {b, kTime, kIn});
  const Tensor hidden = x | nn::Linear{kWidth, "in"} | Relu{};
  const Tensor wide = hidden | nn::Linear{2 * kWidth, "wide"} | Gelu{};
  const Tensor loss = mean(square(wide | nn::Linear{3, "out"}));
  return compile(
      {{"train", minimize(loss, AdamW{.lr = 1e-5}).fetch("loss", loss)}, {"look", fetch("hidden", hidden)}},
      fabric, {.micro_batches = micro_batches, .threads = threads});
}

struct Outcome {
  std::vector<double> losses;
  std::vector<float> hidden, weight;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Fabric& fabric, Index threads, Index micro_batches = 1, Index batch = kBatch) {
  Session session{compiled(fabric, threads, micro_batches), {.threads = threads}};
  std::vector<float> x;
  for (Index i = 0; i < batch * kTime * kIn; ++i)
    x.push_back(static_cast<float>((i * 31) % 23) / 11.0F - 1.0F);
  Outcome out;
  for (int k = 0; k < 3; ++k) out.losses.push_back(session.step("train", {{"x", x}})["loss"].scalar());
  const auto looked = session.step("look", {{"x", x}});
  const auto hidden = looked["hidden"].values<float>();
  out.hidden.assign(hidden.begin(), hidden.end());
  out.weight = session.get("wide.weight");
  return out;
}

}  // namespace

TEST_CASE("gaps between rows, and results in tiles, change no bit") {
  const Outcome expected = run(Fabric::mesh(1, 1), 1);
  CHECK(expected.losses[2] < expected.losses[0]);
  CHECK(expected.hidden.size() == static_cast<std::size_t>(kBatch * kTime * kWidth));
  for (const Index threads : {1, 2, 3}) {
    CHECK(run(Fabric::host(), threads) == expected);
    CHECK(run(Fabric::host(), threads, 5) == expected);
  }
  CHECK(run(Fabric::host(), 2, 1, 4) == run(Fabric::mesh(1, 1), 1, 1, 4));  // fewer rows than planned
}

TEST_CASE("a plan for a host leaves gaps between wide rows, and keeps in a tile what only its update reads") {
  const Executable host = compiled(Fabric::host(), 1, 1);
  const std::string layout = host.plan().dump("layout");
  CHECK_THAT(layout, Catch::Matchers::ContainsSubstring("rows with a gap of 16, f32[5, 3, 1024]"));
  CHECK_THAT(layout, Catch::Matchers::ContainsSubstring("rows with a gap of 16, f32[5, 3, 2048]"));
  CHECK_THAT(layout, !Catch::Matchers::ContainsSubstring("f32[5, 3, 3]"));
  CHECK_THAT(host.plan().dump("memory"), Catch::Matchers::ContainsSubstring("in a tile"));
  const Plan mesh = compiled(Fabric::mesh(1, 1), 1, 1).plan();
  CHECK(mesh.dump("layout").empty());
  CHECK_THAT(mesh.dump("memory"), !Catch::Matchers::ContainsSubstring("in a tile"));
}
