// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Lesson 1: fit y = 2 x + 1. A graph, a loss, one named step, a session.
#include <wafer/wafer.hpp>

#include <iostream>
#include <vector>

using namespace wafer;

int main() {
  Graph g;
  Axis b = g.axis("batch", 8);
  Tensor x = g.input("x", {b, 1});
  Tensor y = g.input("y", {b, 1});
  Tensor loss = mean(square((x | nn::Linear{1, "line"}) - y));
  Session session{compile({{"train", minimize(loss, SGD{.lr = 0.1}).fetch("loss", loss)}}, Fabric::host())};
  const std::vector<float> xs{-2, -1.5F, -1, -0.5F, 0.5F, 1, 1.5F, 2};
  std::vector<float> ys;
  for (float v : xs) ys.push_back(2 * v + 1);
  for (int i = 0; i < 100; ++i) session.step("train", {{"x", xs}, {"y", ys}});
  std::cout << "y = " << session.get("line.weight")[0] << " x + " << session.get("line.bias")[0] << '\n';
}
