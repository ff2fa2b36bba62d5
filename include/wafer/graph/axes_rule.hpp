// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/shape.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// What becomes of a factor in an op.
enum class FactorKind : std::uint8_t {
  parallel,  ///< each index on its own: may be cut freely
  reduced,   ///< summed in ascending order: a cut passes the accumulator on
  whole,     ///< needed in one piece: never cut
};

/// A named index of an op.
struct Factor {
  std::string_view name;  ///< a literal of the op's source
  Index extent = 0;
  FactorKind kind = FactorKind::parallel;
  Index unit = 1;  ///< a cut falls on multiples of it
};

/// Which factors make up each dimension of each operand, as an ordered product, outermost first (as in
/// Shardy, GSPMD's successor). From it follow cuts, partial sums, messages, flops and bytes; no op says more
/// about parallelism than this. A dimension without factors is broadcast (extent 1).
///
///     matmul: (m k), (k n) -> (m n)        AxesRule rule;
///                                          int m = rule.parallel("m", 128), k = rule.reduced("k", 784), ...
///                                          rule.operand({{m}, {k}}); rule.operand({{k}, {n}});
///                                          rule.result({{m}, {n}});
///
/// At most the outermost reduced factor is cut in space, since sums run in one order; so declare inner
/// reduced ones `whole`.
class AxesRule {
 public:
  using Dim = std::vector<int>;   // factors of one dimension
  using Dims = std::vector<Dim>;  // dimensions of one operand

  int parallel(std::string_view name, Index extent, Index unit = 1);
  int reduced(std::string_view name, Index extent, Index unit = 1);
  int whole(std::string_view name, Index extent);

  /// Adds the next input or result; one entry for each dimension.
  void operand(Dims dims) { inputs_.push_back(std::move(dims)); }
  void result(Dims dims) { results_.push_back(std::move(dims)); }

  const std::vector<Factor>& factors() const& { return factors_; }
  const std::vector<Dims>& inputs() const& { return inputs_; }
  const std::vector<Dims>& results() const& { return results_; }
  const std::vector<Factor>& factors() const&& = delete;
  const std::vector<Dims>& inputs() const&& = delete;
  const std::vector<Dims>& results() const&& = delete;

  /// Throws UserError unless there are at most 127 factors, of extent >= 0 and unit >= 1, each dimension's
  /// extent is the product of its factors (or 1 without any), and each operand has its entry.
  void check(const Types& inputs, const Types& results) const;
  /// "(m k), (k n) -> (m n); m 128 parallel, k 784 reduced, n 512 parallel"
  std::string text() const;

 private:
  int add(Factor factor);
  std::vector<Factor> factors_;
  std::vector<Dims> inputs_, results_;
};

/// The rule of an elementwise op with broadcasting: one parallel factor for each dimension of `result`.
AxesRule elementwise_rule(const Types& inputs, const Shape& result, int results = 1);

}  // namespace wafer::inline v0
