// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>

namespace wafer::inline v0 {

/// Product of matrices: A [m, k] and B [k, n] -> [m, n], each stored transposed where its flag says so. With
/// leading dimensions: those of both are equal, [.., m, k] and [.., k, n] -> [.., m, n], or B has none, and
/// serves all of A. Each element is one f32 chain of multiply-adds, ascending in k.
struct Matmul {
  bool transpose_a = false, transpose_b = false;
  static constexpr std::string_view name = "wafer.matmul";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("transpose_a", &Matmul::transpose_a), attr("transpose_b", &Matmul::transpose_b)};
  }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Kernels kernels(const Types& in) const;
};

/// Σ over all rows of the outer products of A's and B's rows: A [.., m] and B [.., n] -> [m, n], one chain
/// that ascends in the rows, outermost dimension first. The gradient of a matrix that serves all leading
/// dimensions.
struct RowProduct {
  static constexpr std::string_view name = "wafer.row_product";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Kernels kernels(const Types& in) const;
};

/// A · B; use apply(Matmul{.transpose_b = true}, {a, b}) for transposed operands.
Tensor matmul(Tensor a, Tensor b);

}  // namespace wafer::inline v0
