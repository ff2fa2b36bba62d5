// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <utility>

namespace wafer::inline v0::nn {

namespace detail {
/// x + y. Throws UserError, naming the layer path, unless both are of one type.
Tensor add_residual(const Tensor& x, const Tensor& y);
}  // namespace detail

/// x + layer(x), for any op or layer that keeps the type of x: `Residual{layer}`. Throws UserError for one
/// that does not.
template <class F>
struct Residual {
  F layer{};
  Tensor operator()(Tensor x) { return detail::add_residual(x, call(layer, x)); }
  Tensor operator()(Tensor x) const { return detail::add_residual(x, call(layer, x)); }
};
template <class F>
Residual(F) -> Residual<F>;
// Without it, Residual{Residual{layer}} would be a copy of the inner one.
template <class F>
Residual(Residual<F>) -> Residual<Residual<F>>;

}  // namespace wafer::inline v0::nn
