// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/nn/linear.hpp>
#include <wafer/ops/add.hpp>
#include <wafer/ops/matmul.hpp>

#include <cmath>

namespace wafer::inline v0::nn {

Tensor Linear::operator()(Tensor x) const {
  const Graph graph = x.graph();
  if (name.empty()) throw UserError(graph.data()->here("linear") + ": expected a name, got none");
  const ScopeGuard scope(graph, name);
  if (x.dtype() != DType::f32 || x.rank() < 2 || features < 0) {
    throw UserError("linear at '" + graph.scope() + "': expected f32 of rank >= 2 and features >= 0, got " +
                    text_of(x.type()) + " and " + std::to_string(features));
  }
  const Index in = x.dim(-1);
  const Init init = in == 0 ? Init::zeros() : Init::uniform(1 / std::sqrt(static_cast<double>(in)));
  const Tensor weight = parameter(graph, "weight", {features, in}, init);
  const Tensor y = apply(Matmul{.transpose_b = true}, {std::move(x), weight}).at(0);
  return bias ? add(y, parameter(graph, "bias", {features}, init).without_decay()) : y;
}

}  // namespace wafer::inline v0::nn
