// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/op.hpp>
#include <wafer/testing/array.hpp>

#include <utility>
#include <vector>

namespace wafer::inline v0::testing {

/// The inputs of one call of an op.
using Example = std::vector<Array>;

struct CheckOptions {
  /// Greatest difference between reference and kernels, and between instruction sets with and without fused
  /// multiply-add, relative to the largest element of the result (at least 1).
  double tolerance = 1e-5;
  /// Greatest difference between a gradient and differences of the op's results, relative to the largest
  /// gradient (at least 1). Examples keep away from kinks and poles by 0.1.
  double gradient_tolerance = 2e-3;
};

/// Holds an op against what the library demands of every op. For each example:
/// - types and axes rule agree, and attributes print;
/// - the plain reference and the kernel of each instruction set that this CPU has give the same result, AVX2
///   and AVX-512 the same bits; every element is written and no input is; the same with NaN and infinity
///   among the f32 inputs;
/// - the same bits for strided operands, for a result in the memory that `alias` allows, and for pieces along
///   each factor that may be cut, reduced ones accumulating; nothing fails on an empty extent, and an empty
///   sum is 0;
/// - an op that declares can_fail = false does not throw;
/// - each gradient agrees with central differences, and where none flows there is none.
/// Throws UserError that names the op, the example and what differs.
void check_op(const OpHandle& op, const std::vector<Example>& examples, const CheckOptions& options);
template <Op T>
void check_op(T op, const std::vector<Example>& examples, const CheckOptions& options = {}) {
  check_op(OpHandle(std::move(op)), examples, options);
}

}  // namespace wafer::inline v0::testing
