// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/report/calibrate.hpp>
#include <wafer/wafer.hpp>

using namespace wafer;

namespace {

Executable network(const Fabric& fabric, Index threads, Index batch, Index width) {
  Graph g;
  const Axis b = g.axis("batch", batch);
  const Tensor x = g.input("x", {b, width});
  const Tensor y = x | nn::Linear{width, "fc1"} | Relu{} | nn::Linear{width, "fc2"};
  const Tensor loss = mean(square(y));
  return compile({{"train", minimize(loss, SGD{.lr = 0.1}).fetch("loss", loss)}}, fabric, {.threads = threads});
}

}  // namespace

TEST_CASE("calibration gives a host whose rates any CPU has, and no other fabric") {
  const Fabric host = calibrate();
  CHECK(host.measured);
  CHECK(host.shared_memory);
  CHECK(host.name == "host");
  // Of any CPU of these twenty years, even under a sanitizer: 10 MFLOP/s to 10 TFLOP/s, and so on.
  CHECK(host.flops > 1e7);
  CHECK(host.flops < 1e13);
  CHECK(host.memory_rate > 1e7);
  CHECK(host.fast_rate > 1e7);
  CHECK(host.setup > 1e-9);
  CHECK(host.setup < 1e-2);
  CHECK(host.hop >= 0);
  CHECK_NOTHROW(host.check());
  CHECK_FALSE(Fabric::host().measured);
  CHECK_THROWS_WITH(calibrate(Fabric::mesh(2, 2)),
                    "calibrate: expected a host, which is at hand to be measured, got mesh 2x2");
}

TEST_CASE("a host's prediction follows from its rates") {
  Fabric host = Fabric::host();
  host.setup = 0;
  host.hop = 0;
  host.memory_rate = host.fast_rate = 1e30;
  host.flops = 1e9;
  const Executable one = network(host, 1, 64, 128);
  // Five products of 64 x 128 x 128, and what is beside them at a quarter of that rate: a few operations for
  // each of 64 x 128 and 128 x 128 numbers.
  const double products = 5 * 2.0 * 64 * 128 * 128 / 1e9;
  CHECK(one.plan().predicted_seconds("train") > products);
  CHECK(one.plan().predicted_seconds("train") < 1.1 * products);
  CHECK(one.plan().text().find("uncalibrated") != std::string::npos);
  host.measured = true;
  CHECK(network(host, 1, 64, 128).plan().text().find("measured rates") != std::string::npos);
  CHECK_THROWS_WITH(one.plan().predicted_seconds("eval"),
                    "predicted_seconds: expected one of the steps 'train', got 'eval'");
}

TEST_CASE("a plan is for one thread where handing over costs more than it gains") {
  Fabric host = Fabric::host();
  host.flops = 1e11;
  host.setup = 1e-7;
  host.hop = 1e-6;
  CHECK(network(host, 2, 4, 8).plan().workers() == 1);
  CHECK(network(host, 2, 256, 512).plan().workers() == 2);
  // A session takes the plan's number unless it is told another.
  const Executable small = network(host, 2, 4, 8);
  CHECK(Session{small}.threads() == 1);
  CHECK(Session{small, {.threads = 3}}.threads() == 3);
}
