// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// How compilation scales: graphs of many ops on a host (run it under `ulimit -s 256`: nothing may recurse),
// and one network on meshes of 4 x 4 and 256 x 256 blocks. usage: bench_scale [OPS]     prints `scale_<case>
// seconds V`, `peak_rss_MiB V`, `mesh_dump_lines ratio V`
#include "measure.hpp"

#include <wafer/wafer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace wafer;

namespace {

// A chain: each op reads the one before.
Tensor chain(const Graph& g, Index ops) {
  Tensor x = parameter(g, "w", {16}, Init::uniform(1));
  for (Index k = 0; k < ops; ++k) x = k % 2 == 0 ? tanh(x) : neg(x);
  return sum(x);
}

// One parameter used in many products, joined by a balanced tree of adds.
Tensor tree(const Graph& g, Index products) {
  Tensor w = parameter(g, "w", {16}, Init::uniform(1));
  Tensor x = g.input("x", {16});
  std::vector<Tensor> level;
  for (Index k = 0; k < products; ++k) level.push_back(w * x);
  while (level.size() > 1) {
    std::vector<Tensor> next;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2) next.push_back(level[k] + level[k + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return sum(level[0]);
}

double compile_seconds(const std::string& name, Tensor (*build)(const Graph&, Index), Index ops) {
  const double start = now();
  Graph g;
  Tensor loss = build(g, ops);
  const double built = now();
  Executable exe = compile({{"train", minimize(loss, SGD{.lr = 0.1}).fetch("loss", loss)}}, Fabric::host());
  const double end = now();
  std::printf(
      "scale_%s seconds %.3f\nscale_%s graph_seconds %.3f\nscale_%s dram_MiB %.3f\nscale_%s peak_rss_MiB "
      "%.1f\n",
      name.c_str(), end - start, name.c_str(), built - start, name.c_str(),
      static_cast<double>(exe.plan().dram_bytes()) / (1 << 20), name.c_str(), peak_rss_mib());
  std::fflush(stdout);
  return end - start;
}

Executable plan_mlp(const Fabric& fabric, bool hints, double& seconds) {
  Graph g;
  Axis b = g.axis("batch", 128);
  Tensor image = g.input("image", {b, 784});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor hidden = image | nn::Linear{512, "fc1"} | Relu{};
  Tensor logits = hidden | nn::Linear{512, "fc2"} | Relu{} | nn::Linear{10, "head"};
  if (hints) {
    image.split(b, Mesh::rows);
    hidden.split(-1, Mesh::columns);
  }
  Tensor loss = logits | cross_entropy(label);
  const double start = now();
  Executable exe = compile({{"train", minimize(loss, AdamW{}).clip_norm(1.0).fetch("loss", loss)},
                            {"eval", fetch("correct", count_correct(logits, label))}},
                           fabric);
  seconds = now() - start;
  return exe;
}

double dump_lines(const Plan& plan) {
  std::string text = plan.text();
  for (const char* stage :
       {"step", "partition", "placement", "tiling", "communication", "schedule", "layout", "memory"}) {
    text += plan.dump(stage);
  }
  return static_cast<double>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

int main(int argc, char** argv) {
  const Index ops = argc > 1 ? std::stol(argv[1]) : 200'000;
  const double chain_seconds = compile_seconds("chain", chain, ops);
  const double tree_seconds = compile_seconds("tree", tree, ops);
  bool good = chain_seconds <= 30 && tree_seconds <= 30 && peak_rss_mib() <= 2048;
  for (const bool hints : {false, true}) {
    double small = 0, large = 0;
    const Plan four = plan_mlp(Fabric::mesh(4, 4), hints, small).plan();
    const Plan many = plan_mlp(Fabric::mesh(256, 256), hints, large).plan();
    const double ratio = dump_lines(many) / dump_lines(four);
    const char* name = hints ? "hinted" : "searched";
    std::printf("plan_%s_4x4 seconds %.3f\nplan_%s_256x256 seconds %.3f\nplan_%s_dump_lines ratio %.3f\n",
                name, small, name, large, name, ratio);
    std::printf("%s%s", four.text().c_str(), many.text().c_str());
    good = good && large <= 2 && ratio <= 2;
  }
  return good ? 0 : 1;
}
