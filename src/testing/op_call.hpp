// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/op.hpp>
#include <wafer/testing/check_op.hpp>

#include <string>
#include <vector>

// Calls of one op on arrays in many ways: what check_op compares.
namespace wafer::inline v0::testing {

/// How an op is run.
struct Way {
  KernelTarget target = KernelTarget::automatic;
  bool reference = false;
  std::string text() const;
};
/// The plain reference, then each instruction set that this CPU has (only where the op has kernels).
std::vector<Way> ways_of(const OpHandle& op, const Types& in);

/// A piece of an op's index space: a range of one factor.
struct Cut {
  int factor = -1;  ///< none: the whole
  Index begin = 0, end = 0;
};

/// An op, one example and what follows from them.
class OpCall {
 public:
  OpCall(const OpHandle& op, const Example& inputs);

  const OpHandle& op() const { return op_; }
  const Types& in() const { return in_; }
  const Types& out() const { return out_; }
  const AxesRule& rule() const { return rule_; }
  const Example& inputs() const { return inputs_; }

  /// Factors that may be cut: parallel ones and the outermost sum, where outermost in each dimension they
  /// occur in.
  std::vector<int> cut_factors() const;
  /// Tiles of a piece, from tiles of the whole.
  std::vector<Tile> pieces(const std::vector<Tile>& whole, bool results, const Cut& cut) const;

  /// Runs the op once on tiles.
  void run(const Way& way, const std::vector<Tile>& in, const std::vector<Tile>& out, bool accumulate) const;
  /// Dense tiles of the whole, results in arrays full of a pattern that no op writes.
  std::vector<Array> run(const Way& way) const;
  /// The same, one piece after another: cuts at `step` units of a factor.
  std::vector<Array> run_cut(const Way& way, int factor, Index units) const;
  /// Operands with gaps between elements, in column-major order where `transposed`.
  std::vector<Array> run_strided(const Way& way, bool transposed) const;
  /// A result in an input's memory.
  Array run_aliased(const Way& way, const AliasPair& pair) const;

 private:
  OpHandle op_;
  Example inputs_;
  Types in_, out_;
  AxesRule rule_;
};

/// Arrays of results before a run.
std::vector<Array> unwritten(const Types& types);
std::vector<Tile> tiles_of(const std::vector<Array>& arrays);

}  // namespace wafer::inline v0::testing
