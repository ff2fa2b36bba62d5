// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "counts.hpp"
#include "evaluator.hpp"

#include <wafer/compiler/step.hpp>
#include <wafer/runtime/session.hpp>
#include <wafer/testing/interpreter.hpp>

#include <string>

namespace fuzz {

/// Where two tensors of one type first differ in a bit: "element 3: 0x3f800000 (1) and ..."; "" where they
/// do not.
std::string first_difference(const wafer::testing::Array& expected, const void* got,
                             const wafer::TensorType& type);

/// Holds each op of a program, as the interpreter ran it, against f64. Returns the first op that is wrong, or
/// "".
std::string check_against_f64(const std::shared_ptr<wafer::GraphData>& graph, const wafer::Program& program,
                              wafer::testing::Interpreter& interpreter, const RunTime& run_time,
                              Counts& counts);

}  // namespace fuzz
