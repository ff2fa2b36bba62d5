// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>
#include <wafer/testing/array.hpp>
#include <wafer/testing/check_op.hpp>

#include <string>

namespace wafer::inline v0::testing {

/// A layer's graph as check_layer sees it: input and result, the first dimension of the input being a named
/// axis.
struct LayerGraph {
  Axis rows;
  Tensor x, y;
};

namespace detail {
/// An input like `x` whose first dimension is a named axis.
LayerGraph begin_layer(const Array& x);
void check_layer(const LayerGraph& layer, const Array& x, const CheckOptions& options);
}  // namespace detail

/// Holds a layer, any callable Tensor -> Tensor, against what the library demands of every layer, on an f32
/// input of rank at least 1 whose first dimension is the batch:
/// - plain references and the kernels of each instruction set that this CPU has give the same result;
/// - it runs on fewer rows than declared, and on none;
/// - every parameter and the input have a gradient, which agrees with central differences.
/// Throws UserError that names what differs, and whatever building the layer throws.
template <class F>
void check_layer(F layer, const Array& x, const CheckOptions& options = {}) {
  LayerGraph graph = detail::begin_layer(x);
  graph.y = call(layer, graph.x);
  detail::check_layer(graph, x, options);
}

}  // namespace wafer::inline v0::testing
