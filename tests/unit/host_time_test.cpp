// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// What a host waits for memory beyond its caches, and the micro-batches that are chosen for it.
#include <wafer/compiler/host_time.hpp>
#include <wafer/wafer.hpp>

#include "catch.hpp"
#include "compiler/stages.hpp"

#include <string>
#include <vector>

using namespace wafer;

namespace {

const Stages& stages_of(const Executable& executable) {
  return static_cast<const Stages&>(*executable.data()->plan);
}

/// Bytes from beyond the cache, of the only step.
double far_bytes(const Executable& executable) {
  const Stages& s = stages_of(executable);
  const std::vector<double> seconds =
      far_seconds(s.step, s.factors, s.communication, s.schedule, s.memory, s.fabric);
  REQUIRE(seconds.size() == 1);
  return seconds[0] * s.fabric.far_rate;
}

Executable product(Index cache, Index micro_batches) {
  Graph g;
  const Axis batch = g.axis("batch", 64);
  const Tensor w = parameter(g, "w", {32, 32}, Init::uniform(1));
  Fabric host = Fabric::host();
  host.cache = cache;
  return compile(fetch("y", matmul(g.input("x", {batch, 32}), w)), host,
                 {.micro_batches = micro_batches, .threads = 1});
}

Index chosen_micro_batches(Index batch_size, const std::vector<Index>& widths, Options options = {}) {
  Graph g;
  const Axis batch = g.axis("batch", batch_size);
  Tensor x = g.input("x", {batch, widths[0]});
  for (std::size_t k = 1; k < widths.size(); ++k)
    x = (k > 1 ? x | Relu{} : x) | nn::Linear{widths[k], "fc" + std::to_string(k)};
  const Tensor loss = x | cross_entropy(g.input("label", {batch}, DType::i32));
  options.threads = 1;
  options.kernel_target = KernelTarget::portable;  // the model knows how many lanes a target has
  const Executable executable =
      compile({{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9})}}, Fabric::host(), options);
  return stages_of(executable).partition.choices.micro_batches;
}

}  // namespace

TEST_CASE("a product waits for the part of what it walks that is beyond the cache") {
  // x and y have 8192 bytes, w has 4096.
  CHECK(far_bytes(product(20480, 1)) == 0);
  CHECK(far_bytes(product(20479, 1)) == Approx(1));
  CHECK(far_bytes(product(1000, 1)) == Approx(19480));
  // Four times the same 8192 bytes, of w and of a part of x and of y; 7192 of them are beyond.
  CHECK(far_bytes(product(8192, 4)) == 0);
  CHECK(far_bytes(product(1000, 4)) == Approx(4 * 7192));
}

TEST_CASE("micro-batches are chosen where parts of the batch stay in the cache and weights do") {
  CHECK(chosen_micro_batches(128, {784, 512, 512, 10}) == 1);
  CHECK(chosen_micro_batches(16384, {64, 64, 10}) == 32);
  CHECK(chosen_micro_batches(4096, {784, 512, 512, 10}) == 16);
  CHECK(chosen_micro_batches(512, {784, 2048, 2048, 10}) ==
        1);  // each part would walk 23 MB of weights again
  CHECK(chosen_micro_batches(16384, {64, 64, 10}, {.micro_batches = 1}) == 1);
}
