// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/arithmetic.hpp>

#include <cmath>
#include <string>

namespace wafer::inline v0 {

Tensor constant_like(double value, const Tensor& like) {
  const DType dtype = like.dtype();
  if (dtype == DType::i32 && value != std::trunc(value)) {
    throw UserError("constant: expected a whole number beside a tensor of i32, got " + std::to_string(value));
  }
  return like.graph().constant(value, dtype);
}

}  // namespace wafer::inline v0
