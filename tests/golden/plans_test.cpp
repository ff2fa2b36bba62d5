// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// The plans of a small network as text. A change of a plan shows as a difference between text files. To
// accept new plans:  tests/golden/update.sh BUILD_FOLDER
#include <wafer/wafer.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "catch.hpp"

using namespace wafer;

namespace {

constexpr const char* kStages[] = {"partition", "placement", "communication", "schedule", "layout", "memory"};

// Threads are given, so that the text does not depend on the machine.
std::string plan_of(const Fabric& fabric, bool cut, Index micro_batches) {
  Graph g;
  Axis b = g.axis("batch", 8);
  Tensor x = g.input("x", {b, 16});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor hidden = x | nn::Linear{32, "fc1"} | Relu{};
  Tensor logits = hidden | nn::Linear{4, "head"};
  if (cut) {
    x.split(b, Mesh::rows);
    hidden.split(-1, Mesh::columns);
  }
  Tensor loss = logits | cross_entropy(label);
  Options options;
  options.threads = 2;
  options.micro_batches = micro_batches;
  const Plan plan = compile({{"train", minimize(loss, SGD{.lr = 0.1, .momentum = 0.9}).fetch("loss", loss)},
                             {"eval", fetch("correct", count_correct(logits, label))}},
                            fabric, options)
                        .plan();
  std::string out;
  for (const char* stage : kStages) out += "== " + std::string(stage) + "\n" + plan.dump(stage);
  return out;
}

// Names the first line that differs.
void compare(const std::string& name, const std::string& text) {
  const std::string path = std::string(WAFER_SOURCE_DIR) + "/tests/golden/" + name + ".txt";
  if (std::getenv("WAFER_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  INFO("golden file " << path);
  REQUIRE(file.good());
  std::istringstream got(text);
  std::string expected_line, got_line;
  for (int line = 1;; ++line) {
    const bool more_expected = static_cast<bool>(std::getline(file, expected_line));
    const bool more_got = static_cast<bool>(std::getline(got, got_line));
    INFO("line " << line);
    REQUIRE(more_got == more_expected);
    if (!more_expected) break;
    if (got_line != expected_line) {
      REQUIRE(got_line == expected_line);
    }
  }
}

}  // namespace

TEST_CASE("golden: the plan of a small network on a host") {
  compare("host", plan_of(Fabric::host(), false, 1));
}

TEST_CASE("golden: the plan of a small network on a mesh, batch and a feature dimension cut") {
  compare("mesh_2x2", plan_of(Fabric::mesh(2, 2), true, 1));
}

TEST_CASE("golden: the same in micro-batches") {
  compare("mesh_2x2_micro_2", plan_of(Fabric::mesh(2, 2), true, 2));
}
