// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/nn/residual.hpp>
#include <wafer/ops/add.hpp>

namespace wafer::inline v0::nn::detail {

Tensor add_residual(const Tensor& x, const Tensor& y) {
  if (x.type() != y.type()) {
    throw UserError("residual at '" + x.graph().scope() + "': expected a layer that gives " +
                    text_of(x.type()) + " as it takes, got " + text_of(y.type()));
  }
  return add(x, y);
}

}  // namespace wafer::inline v0::nn::detail
