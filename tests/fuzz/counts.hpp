// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <map>
#include <string>

namespace fuzz {

/// A greatest figure, and the op that it came of.
struct Worst {
  double value = 0;
  std::string op;
  void see(double seen, std::string_view of);
};

/// What a run of the fuzzer came by.
struct Counts {
  using Kinds = std::map<std::string, wafer::Index>;
  Kinds ops;                                              ///< by name, as they ran
  Kinds cuts{{"batch", 0}, {"feature", 0}, {"both", 0}};  ///< plans
  Kinds collectives;                                      ///< by kind, in all plans
  Kinds drawn;        ///< kinds of graphs and plans that the generator is asked for
  Kinds drawn_again;  ///< ops that do not fit what they were drawn for, by cause
  Kinds refused;      ///< plans that hints made impossible, by cause
  wafer::Index graphs = 0, plans = 0, cut_plans = 0, gradients = 0, trained = 0;
  wafer::Index compared = 0;              ///< tensors equal in every bit
  wafer::Index evaluated = 0;             ///< elements held against f64, to 1e-5 of their terms
  wafer::Index near = 0, not_finite = 0;  ///< elements that were not
  Worst worst;                            ///< error over the largest sum of magnitudes

  /// Sums in f32 whose own bound of rounding is above 1e-5, held to that bound.
  struct LongSums {
    wafer::Index sums = 0, elements = 0, most_roundings = 0;
    wafer::Index beyond = 0;        ///< elements whose error is above 1e-5 of the largest sum of magnitudes
    Worst worst, worst_of_allowed;  ///< error over the largest sum of magnitudes, and over what is allowed
  } long_sums;

  /// Prints all of it. Whether each op, cut, collective and kind that was drawn occurred `least` times, and
  /// half of the plans cut something.
  bool print(wafer::Index least) const;
};

}  // namespace fuzz
