// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <tuple>
#include <utility>

namespace wafer::inline v0::nn {

/// One layer after the other, as a layer: `Sequential{Linear{512, "fc1"}, Relu{}, Linear{10, "head"}}`. What
/// a pipe of them computes; useful inside Residual and in_scope. None at all is the identity.
template <class... F>
struct Sequential {
  std::tuple<F...> layers;
  explicit Sequential(F... layer) : layers(std::move(layer)...) {}
  Tensor operator()(Tensor x) { return through(*this, std::move(x)); }
  Tensor operator()(Tensor x) const { return through(*this, std::move(x)); }

 private:
  template <class Self>
  static Tensor through(Self& self, Tensor x) {
    std::apply([&](auto&... layer) { ((x = call(layer, std::move(x))), ...); }, self.layers);
    return x;
  }
};

}  // namespace wafer::inline v0::nn
