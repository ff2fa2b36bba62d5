// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/op_call.hpp"

#include <string>

// How results are compared, with each other and with gradients.
namespace wafer::inline v0::testing {

/// "element 3 is 0.5, not 0.25": the first element whose bits differ.
std::string difference_text(const Array& got, const Array& expected);

/// Throws UserError unless floats differ by at most `tolerance`, relative to the largest finite magnitude
/// expected (at least 1), with NaN and infinities in the same places, and all else is the same.
void expect_close(const Array& got, const Array& expected, double tolerance, const std::string& what);

/// Holds an op's gradients against central differences of its results, weighted at random. Throws UserError.
void check_gradient(const OpCall& call, double tolerance);

/// An array's element as f64, whatever its type.
double number_at(const Array& array, Index i);

}  // namespace wafer::inline v0::testing
