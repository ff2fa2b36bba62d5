// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/op.hpp>

#include <vector>

namespace fuzz {

/// A dense tensor of any type, as doubles (which hold f32, i32 and booleans exactly).
struct Values {
  wafer::Shape shape;
  std::vector<double> at;
};

/// What an op should give, by plain arithmetic in f64 on its own operands.
struct Expected {
  std::vector<double> value;
  std::vector<double> terms;  ///< sum of the magnitudes of the terms that make up each element
  std::vector<bool> near;     ///< within 1e-3 of a kink or tie: may be either side
  /// Of a sum in f32: the most roundings that a term passes on its way into the sum; 0 for what is no sum.
  wafer::Index roundings = 0;
};

struct RunTime {
  std::vector<wafer::Index> axes;  ///< extents of named axes
  wafer::Index step = 1;
};

/// One entry for each result. `results` are the run-time types. Throws std::runtime_error for an op that is
/// unknown here.
std::vector<Expected> evaluate(const wafer::OpHandle& op, const std::vector<Values>& in,
                               const wafer::Types& results, const RunTime& run_time);

}  // namespace fuzz
