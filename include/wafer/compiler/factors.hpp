// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/step.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace wafer::inline v0 {

/// A factor of one op of a program, with what the whole step knows about it.
struct OpFactor {
  Index extent = 0;
  Index unit = 1;
  FactorKind kind = FactorKind::parallel;
  std::int16_t axis = -1;     ///< the named axis it follows
  bool splittable = false;    ///< a range of it is a range of each operand, and sums stay in order
  std::uint32_t cls = kNone;  ///< its class: factors joined through dimensions of values, over all programs
};

/// The axes rules of one program's ops, flat.
struct ProgramFactors {
  std::vector<OpFactor> factors;
  std::vector<std::uint32_t> first_factor;  ///< of each op, and the end
  std::vector<std::int8_t> outer;  ///< for each dimension of each operand: its outermost factor, or -1
  std::vector<std::uint32_t> first_outer;  ///< of each op, and the end

  std::span<const OpFactor> of(std::size_t op) const {
    return {factors.data() + first_factor[op], first_factor[op + 1] - first_factor[op]};
  }
};

/// A class of factors of the whole step: a feature dimension that ops share, such as the width of a hidden
/// layer.
struct FactorClass {
  Index extent = 0;
  Index unit = 1;
  bool uniform = true;    ///< all its factors have the same extent; only such a class can be cut
  double flops = 0;       ///< of the ops that it occurs in
  ValueId value = kNone;  ///< the first value that has it, and in which dimension
  int dim = 0;
};

/// Axes rules of all ops, and the classes that they make.
struct StepFactors {
  std::vector<ProgramFactors> programs;
  std::vector<FactorClass> classes;
  std::vector<std::uint32_t> first_dim;  ///< of each value in dim_class
  std::vector<std::uint32_t> dim_class;  ///< the class of each dimension of each value, kNone for none

  std::uint32_t class_of(ValueId value, int dim) const {
    return dim_class.empty() ? kNone : dim_class[first_dim[value] + static_cast<std::uint32_t>(dim)];
  }
};

/// Reads the axes rule of each op once. Classes are found (connected components) only where `with_classes`: a
/// single block has nothing to cut.
StepFactors analyse_factors(const Step& step, bool with_classes);

}  // namespace wafer::inline v0
