// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <string_view>
#include <tuple>
#include <vector>

namespace wafer::inline v0 {

/// Sum over some dimensions, ascending ones as `sum` gives them: either the last one alone, in 16 lanes over
/// chunks of 64, or others, one f32 chain for each element in ascending order. f32 -> f32 without these
/// dimensions, or, with `keep`, with extent 1 there.
struct Sum {
  std::vector<Index> dims{};
  bool keep = false;
  static constexpr std::string_view name = "wafer.sum";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("dims", &Sum::dims), attr("keep", &Sum::keep)};
  }
  Types infer(const Types& in) const;
  AxesRule axes(const Types& in) const;
  void run(const Context& context, Tiles in, Tiles out) const;
  Gradients gradient(Inputs in, Outputs out, Cotangents cotangents) const;
  Kernels kernels(const Types& in) const;
};

/// Sum of all elements of an f32 tensor, taken in f64 and rounded once: an f32 scalar.
Tensor sum(Tensor x);
/// Sum over some dimensions, negative ones counted from the end; over all of them as sum(x). Where the last
/// dimension is one of several, it is summed first. Throws UserError for a dimension out of range or named
/// twice.
Tensor sum(Tensor x, const std::vector<int>& dims);
/// The same, with extent 1 in the summed dimensions.
Tensor sum_keep(Tensor x, const std::vector<int>& dims);

}  // namespace wafer::inline v0
