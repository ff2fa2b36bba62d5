// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/communication.hpp>

#include <string>
#include <vector>

namespace wafer::inline v0 {

/// The ops of one step that run as tails of another, their head: on each piece of its result as soon as that
/// is complete, while it is in cache.
struct ProgramFusion {
  std::vector<std::uint32_t> head;  ///< of each op of the order: its head, itself where it is no tail

  bool is_tail(std::size_t op) const { return head[op] != op; }
  /// The tails of an op, ascending.
  std::vector<std::uint32_t> tails_of(std::uint32_t op) const;
};

/// What follows a product element by element (bias, activation, mask, the update of the weights), or sums its
/// rows (the gradient of a bias), becomes its tail. An update of the commit region may, where the gradient is
/// the whole batch's and no op from the product on can fail: then the commit begins with it.
struct Fusion {
  std::vector<ProgramFusion> programs;

  /// Throws InternalError where a tail would see an operand before it is complete, or elements of another
  /// piece.
  void verify(const Step& step, const StepFactors& factors) const;
  /// One line for each head.
  std::string dump(const Step& step) const;
};

Fusion fuse_tails(const Step& step, const StepFactors& factors, const Partition& partition,
                  const Communication& communication, const Fabric& fabric);

/// For each factor of a tail, the factor of its head whose range it follows; empty where the op at `tail`
/// cannot be a tail of the one at `head`. `grouped` are values that the head and its other tails compute in
/// the head's shape.
std::vector<std::int8_t> factors_in_head(const Step& step, const StepFactors& factors, std::size_t program,
                                         std::uint32_t head, std::uint32_t tail,
                                         const std::vector<ValueId>& grouped);

/// The values that an op computes in its head's shape, dimension by dimension, given those factors.
std::vector<ValueId> results_in_shape(const Step& step, const StepFactors& factors, std::size_t program,
                                      std::uint32_t head, std::uint32_t tail,
                                      const std::vector<std::int8_t>& in_head);

}  // namespace wafer::inline v0
