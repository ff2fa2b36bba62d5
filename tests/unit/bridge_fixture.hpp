// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../error/fixture.hpp"

#include <wafer/wafer.hpp>

#include <vector>

namespace bridge_test {

using namespace wafer;
using error_test::expect_message;
using wafer_test::message_of;

/// y = x w + bias on batches of up to 4 rows of 3 features. Step "train" subtracts the gradients of the sum
/// of y, step "look" shows all there is. There is a variable of each rank, and all start as zeros.
struct Network {
  Graph graph;
  Axis batch = graph.axis("batch", 4);
  Tensor x = graph.input("x", {batch, 3});
  Tensor label = graph.input("label", {batch}, DType::i32);
  Tensor scale = parameter(graph, "scale", {}, Init::zeros());
  Tensor bias = parameter(graph, "bias", {2}, Init::zeros());
  Tensor w = parameter(graph, "w", {3, 2}, Init::zeros());
  Tensor cube = parameter(graph, "cube", {1, 2, 3}, Init::zeros());
  Tensor y = matmul(x, w) + bias;
  Tensor total = sum(y);

  /// On a host, or on a mesh whose rows share the batch.
  Session session(bool mesh) const {
    if (mesh) x.split(batch, Mesh::rows);
    const Request inputs = fetch("x", x).fetch("label", label);
    const Request look = inputs.fetch("y", y).fetch("total", total).fetch("scale", scale).fetch("cube", cube);
    return Session{compile({{"train", minimize(total, SGD{.lr = 1})}, {"look", look}},
                           mesh ? Fabric::mesh(2, 2) : Fabric::host())};
  }
};

/// A session whose one step gives back its input "x": up to 13 rows of these extents.
template <class... Extents>
Session echo(bool mesh, Extents... row) {
  Graph graph;
  const Axis batch = graph.axis("batch", 13);
  const Tensor x = graph.input("x", {batch, row...});
  if (mesh) x.split(batch, Mesh::rows);
  return Session{compile(fetch("x", x), mesh ? Fabric::mesh(2, 2) : Fabric::host())};
}

}  // namespace bridge_test
