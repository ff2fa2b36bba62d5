// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

using namespace error_test;

TEST_CASE("limits of memory name what is needed and what weighs most") {
  const Network n;
  const std::vector<NamedRequest> requests = n.requests();
  expect_message<CompileError>(
      [&] { compile(requests, Fabric::mesh(2, 2, {.sram = 256})); },
      {"at most 256 bytes of SRAM in each block", "closest of", "micro-batches", "'train'", "'fc1", "bytes"});
  expect_message<CompileError>([&] { compile(requests, Fabric::mesh(2, 2), {.sram_limit = 256}); },
                               {"at most 256 bytes of SRAM", "'fc1.weight'"});
  expect_message<CompileError>([&] { compile(requests, Fabric::mesh(2, 2, {.dram = 64})); },
                               {"at most 64 bytes of DRAM", "closest of"});
  expect_message<CompileError>(
      [&] { compile(requests, Fabric::host(), {.dram_limit = 512}); },
      {"at most 512 bytes of DRAM", "f32[8, 5] of parameter 'fc1.weight' 160 bytes"});
  expect_message<CompileError>([&] { compile(requests, Fabric::host(), {.sram_limit = 1 << 20}); },
                               {"sram_limit", "host"});
  expect_message<CompileError>([&] { compile(requests, Fabric::host(), {.dram_limit = -1}); },
                               {"dram_limit", "-1"});
  // What is needed is enough. Where the micro-batches are given, a host has this one plan.
  const Options one{.micro_batches = 1};
  const Index need = compile(requests, Fabric::host(), one).plan().dram_bytes();
  CHECK(compile(requests, Fabric::host(), {.micro_batches = 1, .dram_limit = need}).plan().dram_bytes() ==
        need);
  expect_message<CompileError>(
      [&] { compile(requests, Fabric::host(), {.micro_batches = 1, .dram_limit = need - 1}); },
      {"at most " + std::to_string(need - 1) + " bytes of DRAM", "got " + std::to_string(need)});
  expect_message<UserError>([&] { Fabric::mesh(0, 2); }, {"mesh", "0 x 2"});
  expect_message<UserError>([&] { Fabric::mesh(2, 2, {.sram = 0}); }, {"mesh", "0"});
}

TEST_CASE("what a block holds of a tensor is told from the whole") {
  Graph g;
  const Axis batch = g.axis("batch", 4);
  const Tensor x = g.input("x", {batch, 32});
  const Tensor h = x | nn::Linear{64, "h1"} | Relu{} | nn::Linear{64, "h2"} | Relu{};
  h.split(-1, Mesh::columns);
  const Request request = minimize(mean(square(h)), SGD{});
  expect_message<CompileError>(
      [&] { compile(request, Fabric::mesh(2, 2), {.sram_limit = 1024}); },
      {"f32[64, 32] of parameter 'h1.weight' 8192 bytes",
       "f32[64, 64] of parameter 'h2.weight' (its piece [32, 64] in each block) 8192"});
}

TEST_CASE("a plan predicts the time of each step") {
  const Network n;
  CHECK_THAT(compile(n.requests(), Fabric::host()).plan().text(),
             Catch::Matchers::ContainsSubstring("  predicted    step 'train' ") &&
                 Catch::Matchers::ContainsSubstring(" ms, step 'predict' ") &&
                 Catch::Matchers::EndsWith(" ms, by an uncalibrated cost model\n"));
}

TEST_CASE("options that cannot be met are named") {
  const Network n;
  const std::vector<NamedRequest> requests = n.requests();
  expect_message<CompileError>([&] { compile(requests, Fabric::mesh(2, 2), {.reproducible = false}); },
                               {"reproducible", "mesh"});
  CHECK_NOTHROW(compile(requests, Fabric::mesh(2, 2), {.reproducible = true}));
  CHECK_NOTHROW(compile(requests, Fabric::host(), {.reproducible = false}));
  expect_message<CompileError>([&] { compile(requests, Fabric::host(), {.micro_batches = 5}); },
                               {"micro_batches", "at most 4", "'batch'", "5"});
  expect_message<CompileError>([&] { compile(requests, Fabric::host(), {.micro_batches = -2}); },
                               {"micro_batches", "-2"});
  expect_message<CompileError>([&] { compile(requests, Fabric::host(), {.threads = -2}); },
                               {"threads", "-2"});
  const Executable executable = compile(requests, Fabric::host());
  expect_message<UserError>([&] { executable.plan().dump("stages"); }, {"stages"});
}

TEST_CASE("split hints that cannot be met are named, with op and path") {
  const auto refused = [](auto hint, const Fabric& fabric, const std::vector<std::string>& parts) {
    const Network n;
    hint(n);
    expect_message<CompileError>([&] { compile(n.requests(), fabric); }, parts);
  };
  const Fabric mesh = Fabric::mesh(2, 2);
  refused([](const Network& n) { n.x.split(n.batch, Mesh::rows); }, Fabric::host(),
          {"split", "'x'", "rows", "host"});
  refused([](const Network& n) { n.hidden.split(-1, Mesh::columns); }, Fabric::mesh(2, 1),
          {"split", "wafer.relu", "columns", "2x1"});
  refused(
      [](const Network& n) {
        n.x.split(n.batch, Mesh::rows);
        n.label.split(n.batch, Mesh::columns);
      },
      mesh, {"split", "'label'", "two"});
  refused(
      [](const Network& n) {
        n.x.split(n.batch, Mesh::rows);
        n.hidden.split(-1, Mesh::rows);
      },
      mesh, {"split", "wafer.relu", "one for both"});
  refused(
      [](const Network& n) {
        n.hidden.split(-1, Mesh::columns);
        n.x.split(1, Mesh::columns);
      },
      mesh, {"split", "'x'", "two"});
  const Network n;
  n.x.split(n.batch, Mesh::rows);
  expect_message<CompileError>([&] { compile(n.requests(), mesh, {.micro_batches = 3}); },
                               {"split", "'x'", "micro-batch", "1"});
  Graph g;
  const Tensor y = g.input("y", {4, 1}) | in_scope("tiny", Relu{});
  y.split(1, Mesh::columns);
  expect_message<CompileError>(
      [&] {
        compile({{"s", fetch("y", y)}}, mesh);
      },
      {"split", "dimension 1", "wafer.relu", "'tiny'", "an extent of at least 2 to cut",
       "at least 1 element,", "got an extent of 1"});
}
