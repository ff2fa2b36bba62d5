// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/arithmetic.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/ops/min.hpp>
#include <wafer/ops/sqrt.hpp>
#include <wafer/ops/sum_squares.hpp>
#include <wafer/optim/clip.hpp>

namespace wafer::inline v0 {

namespace {

// Keeps the division defined where all gradients are 0; PyTorch's.
constexpr double kNormOffset = 1e-6;

}  // namespace

Tensor global_norm(std::span<const Tensor> tensors) {
  if (tensors.empty()) throw UserError("global_norm: expected at least one tensor, got none");
  Tensor squares;
  for (const Tensor& tensor : tensors) {
    const Tensor part = sum_squares(tensor);
    squares = squares ? squares + part : part;
  }
  return sqrt(squares);
}

Tensor clip_scale(std::span<const Tensor> gradients, double max_norm) {
  const Tensor norm = global_norm(gradients);
  return cast(min(constant_like(1, norm), max_norm / (norm + kNormOffset)), DType::f32);
}

}  // namespace wafer::inline v0
