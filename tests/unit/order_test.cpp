// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

#include "catch.hpp"

#include <string>
#include <vector>

using namespace wafer;

TEST_CASE("branches that are declared before they are used are made one after another") {
  Graph g;
  constexpr Index kRows = 64, kColumns = 64, kBranches = 32;
  const Tensor x = g.input("x", {kRows, kColumns});
  std::vector<Tensor> branches;
  for (Index i = 0; i < kBranches; ++i) branches.push_back(square(x * static_cast<double>(i)));
  Tensor sum = branches.front();
  for (std::size_t i = 1; i < branches.size(); ++i) sum = sum + branches[i];
  const Executable executable = compile(fetch("sum", sum), Fabric::host());
  // The input, the sum so far, and the branch that comes next, which are of one size; small constants
  // besides.
  constexpr Index kTensor = kRows * kColumns * 4;
  CHECK(executable.plan().dram_bytes() >= 3 * kTensor);
  CHECK(executable.plan().dram_bytes() < 4 * kTensor);
}

TEST_CASE("a weight's gradient follows that of its layer's input, and precedes those of earlier layers") {
  Graph g;
  const Axis b = g.axis("batch", 8);
  const Tensor x = g.input("x", {b, 16}), label = g.input("label", {b}, DType::i32);
  const Tensor loss = x | nn::Linear{16, "a"} | Relu{} | nn::Linear{16, "b"} | Relu{} | nn::Linear{3, "c"} |
                      cross_entropy(label);
  const Executable executable = compile({{"train", minimize(loss, SGD{.lr = 0.1})}}, Fabric::host());
  const std::string schedule = executable.plan().dump("schedule");
  const auto update_of = [&](const std::string& layer) {
    const std::size_t at = schedule.find("'optimizer." + layer + ".weight'");
    REQUIRE(at != std::string::npos);
    return at;
  };
  CHECK(update_of("c") < update_of("b"));
  CHECK(update_of("b") < update_of("a"));
}
