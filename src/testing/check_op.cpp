// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/testing/check_op.hpp>

#include "kernels/table.hpp"
#include "testing/differences.hpp"
#include "testing/op_call.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace wafer::inline v0::testing {

namespace {

std::string kind_of(FactorKind kind) { return kind == FactorKind::reduced ? "reduced" : "parallel"; }

class Check {
 public:
  Check(const OpHandle& op, const Example& inputs, const CheckOptions& options)
      : call_(op, inputs), ways_(ways_of(op, call_.in())), options_(options) {}

  void run() const {
    call_.op().text();
    if (call_.op().infer(call_.in()) != call_.out())
      throw UserError("expected `infer` to give the same again");
    const std::vector<std::vector<Array>> results = ways_agree(call_);
    for (std::size_t w = 0; w < ways_.size(); ++w) {
      const Way& way = ways_[w];
      for (bool transposed : {false, true}) {
        const std::string how = transposed ? " in column-major order" : " with gaps";
        expect_same(call_.run_strided(way, transposed), results[w], way.text() + " on operands" + how);
      }
      for (const AliasPair& pair : call_.op().alias(call_.in())) aliased(way, pair, results[w]);
      for (int factor : call_.cut_factors()) cut(way, factor, results[w]);
    }
    ways_agree(OpCall(call_.op(), with_special_values(call_.inputs())));
    if (call_.op().model().gradient) check_gradient(call_, options_.gradient_tolerance);
  }

 private:
  // The first way whose kernels give the bits of those of way w, which may be w itself.
  std::size_t first_alike(std::size_t w) const {
    std::size_t first = 1;
    while (first < w && kernels::fuses(ways_[first].target) != kernels::fuses(ways_[w].target)) ++first;
    return first;
  }

  // Every way of running against the first, the plain reference.
  std::vector<std::vector<Array>> ways_agree(const OpCall& call) const {
    std::vector<std::vector<Array>> results;
    for (std::size_t w = 0; w < ways_.size(); ++w) {
      const Way& way = ways_[w];
      const Example before = call.inputs();
      results.push_back(call.run(way));
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (!same_bits(before[i], call.inputs()[i])) {
          throw UserError(way.text() + ": expected to leave input " + std::to_string(i) + " as it is");
        }
      }
      const std::size_t alike = first_alike(w);
      for (std::size_t r = 0; r < results[0].size(); ++r) {
        const std::string what = way.text() + ", result " + std::to_string(r);
        expect_close(results.back()[r], results[0][r], options_.tolerance,
                     what + " beside the plain reference");
        if (alike >= w) continue;
        expect_close(results.back()[r], results[alike][r], 0, what + " beside " + ways_[alike].text());
      }
    }
    return results;
  }

  static void expect_same(const std::vector<Array>& got, const std::vector<Array>& expected,
                          const std::string& what) {
    for (std::size_t r = 0; r < expected.size(); ++r) {
      if (same_bits(got[r], expected[r])) continue;
      throw UserError(what + ": expected the same bits in result " + std::to_string(r) + ", got " +
                      difference_text(got[r], expected[r]));
    }
  }

  void aliased(const Way& way, const AliasPair& pair, const std::vector<Array>& expected) const {
    const auto r = static_cast<std::size_t>(pair.result), i = static_cast<std::size_t>(pair.input);
    if (r >= call_.out().size() || i >= call_.in().size() ||
        bytes_of(call_.out()[r]) != bytes_of(call_.in()[i])) {
      throw UserError("expected `alias` to pair results with inputs of as many bytes, got result " +
                      std::to_string(pair.result) + " with input " + std::to_string(pair.input));
    }
    if (same_bits(call_.run_aliased(way, pair), expected[r])) return;
    throw UserError(way.text() + ": expected the same bits with result " + std::to_string(r) +
                    " in the memory of input " + std::to_string(i));
  }

  void cut(const Way& way, int factor, const std::vector<Array>& expected) const {
    const Factor& cut = call_.rule().factors()[static_cast<std::size_t>(factor)];
    const std::string what =
        way.text() + " along " + kind_of(cut.kind) + " factor '" + std::string(cut.name) + "'";
    const Index units = (cut.extent + cut.unit - 1) / cut.unit;
    for (Index step : {Index{1}, Index{3}, (units + 1) / 2}) {
      if (step > 0 && step < units) {
        expect_same(call_.run_cut(way, factor, step), expected,
                    what + " in pieces of " + std::to_string(step * cut.unit));
      }
    }
    empty(way, factor, expected, what);
  }

  // An empty run of the op, and an empty piece after the whole.
  void empty(const Way& way, int factor, const std::vector<Array>& expected, const std::string& what) const {
    const bool reduced = call_.rule().factors()[static_cast<std::size_t>(factor)].kind == FactorKind::reduced;
    const Cut nothing{factor, 0, 0};
    const auto pieces = [&](const std::vector<Array>& arrays, bool results) {
      return call_.pieces(tiles_of(arrays), results, nothing);
    };
    std::vector<Array> results = reduced ? expected : unwritten(call_.out());
    if (reduced) {
      call_.run(way, pieces(call_.inputs(), false), pieces(results, true), true);
      expect_same(results, expected, what + ", an empty piece more");
      results = unwritten(call_.out());
    }
    const auto shrunk = [](std::vector<Tile> tiles) {
      for (Tile& tile : tiles) {
        for (std::size_t d = 0; d < kMaxRank; ++d) tile.shape[d] = std::min(tile.shape[d], tile.extent[d]);
      }
      return tiles;
    };
    call_.run(way, shrunk(pieces(call_.inputs(), false)), shrunk(pieces(results, true)), false);
    if (!reduced) return;
    std::vector<Array> zeros;
    for (const TensorType& type : call_.out()) zeros.emplace_back(type);
    expect_same(results, zeros, what + ", which is empty");
  }

  static Example with_special_values(Example inputs) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (Array& input : inputs) {
      if (input.type().dtype != DType::f32 || input.shape().size() == 0) continue;
      const std::span<float> values = input.values<float>();
      values[values.size() / 2] = kInfinity;
      values.back() = -kInfinity;
      values.front() = std::numeric_limits<float>::quiet_NaN();
    }
    return inputs;
  }

  OpCall call_;
  std::vector<Way> ways_;
  CheckOptions options_;
};

}  // namespace

void check_op(const OpHandle& op, const std::vector<Example>& examples, const CheckOptions& options) {
  for (std::size_t e = 0; e < examples.size(); ++e) {
    std::string what = "check_op '" + std::string(op.name()) + "', example " + std::to_string(e) + " (";
    for (std::size_t i = 0; i < examples[e].size(); ++i)
      what += (i ? ", " : "") + text_of(examples[e][i].type());
    what += "): ";
    try {
      Check(op, examples[e], options).run();
    } catch (const RunError& error) {
      if (op.model().can_fail) throw UserError(what + "expected an example that runs, got: " + error.what());
      throw UserError(what + "expected not to throw, since can_fail is false, got: " + error.what());
    } catch (const std::exception& error) {
      throw UserError(what + error.what());
    }
  }
}

}  // namespace wafer::inline v0::testing
