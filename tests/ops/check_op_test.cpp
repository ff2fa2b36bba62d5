// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops.hpp>
#include <wafer/testing/check_layer.hpp>
#include <wafer/testing/check_op.hpp>

#include "catch.hpp"

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer::testing::Array;
using wafer::testing::check_layer;
using wafer::testing::check_op;

namespace {

enum Fault : Index {
  kFine,
  kThrows,
  kWritesInput,
  kLeavesOut,
  kKnowsItsPlace,
  kIgnoresStrides,
  kWrongSlope,
  kNoSlope,
  kBadRule,
  kWrongKernel,
  kForgetsSum,
  kBadAlias,
};

// A user's op with a choice of faults: twice x, or, with `sums`, the sum of each column of x.
struct Faulty {
  Index fault = kFine;
  bool sums = false;
  static constexpr std::string_view name = "test.faulty";
  static constexpr bool can_fail = false;
  static constexpr auto attributes() {
    return std::tuple{attr("fault", &Faulty::fault), attr("sums", &Faulty::sums)};
  }

  Types infer(const Types& in) const { return sums ? Types{{DType::f32, Shape{in[0].shape[1]}}} : in; }
  AxesRule axes(const Types& in) const {
    if (!sums && fault != kBadRule) return elementwise_rule(in, in[0].shape);
    AxesRule rule;
    const int i = rule.reduced("i", in[0].shape[0]), j = rule.parallel("j", in[0].shape[1]);
    rule.operand({{i}, {j}});
    rule.result({{j}});
    return rule;
  }
  void run(const Context& context, Tiles in, Tiles out) const {
    if (fault == kThrows) throw RunError("no");
    if (sums) {
      const bool starts = fault == kForgetsSum || !context.accumulate;
      for (Index j = 0; starts && j < out[0].extent[0]; ++j) element<float>(out[0], {j}) = 0;
    }
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      float& x = element<float>(in[0], index);
      if (sums) {
        element<float>(out[0], {index[1]}) += x;
        return;
      }
      float y = 2 * x;
      if (fault == kLeavesOut && index[0] == 1) return;
      if (fault == kKnowsItsPlace) y += static_cast<float>(index[0]);
      if (fault == kWritesInput) x = y;
      if (fault == kIgnoresStrides) {
        out[0].as<float>()[index[0] * in[0].extent[1] + index[1]] = y;
      } else {
        element<float>(out[0], index) = y;
      }
    });
  }
  Gradients gradient(Inputs in, Outputs, Cotangents cotangents) const {
    if (fault == kNoSlope) return {{}};
    if (sums) return {broadcast_like(cotangents[0], in[0])};
    return {cotangents[0] * (fault == kWrongSlope ? 3.0 : 2.0)};
  }
  Alias alias(const Types&) const { return fault == kBadAlias ? Alias{{0, 1}} : Alias{}; }
  Kernels kernels(const Types&) const {
    if (fault != kWrongKernel) return {};
    return {{[](const void*, const Context& context, Tiles in, Tiles out) {
      Faulty{}.run(context, in, out);
      if (out[0].size() > 0) *out[0].as<float>() += 1;
    }}};
  }
};

std::string message_of(Index fault, bool sums = false) {
  try {
    check_op(Faulty{fault, sums}, {{Array::uniform({5, 3}, 1)}});
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

// A layer of one weight, through an op with a choice of faults.
struct Layer {
  Index fault = kFine;
  Tensor operator()(Tensor x) const {
    const Tensor w = parameter(x.graph(), "w", {3}, Init::uniform(1));
    if (fault == kNoSlope) parameter(x.graph(), "unused", {2}, Init::zeros());
    return x * w | Faulty{fault == kNoSlope ? Index{kFine} : fault} | wafer::tanh;
  }
};

std::string layer_message_of(Index fault) {
  try {
    check_layer(Layer{fault}, Array::uniform({4, 3}, 2));
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("check_op passes an op without faults") {
  CHECK(message_of(kFine) == "nothing");
  CHECK(message_of(kFine, true) == "nothing");
}

TEST_CASE("check_op names each fault") {
  CHECK_THAT(message_of(kThrows),
             ContainsSubstring("check_op 'test.faulty', example 0 (f32[5, 3])") &&
                 ContainsSubstring("expected not to throw, since can_fail is false, got: no"));
  CHECK_THAT(message_of(kWritesInput), ContainsSubstring("to leave input 0 as it is"));
  CHECK_THAT(message_of(kLeavesOut), ContainsSubstring("expected the same bits"));
  CHECK_THAT(message_of(kKnowsItsPlace), ContainsSubstring("along parallel factor 'd0' in pieces of 1"));
  CHECK_THAT(message_of(kIgnoresStrides), ContainsSubstring("on operands with gaps"));
  CHECK_THAT(message_of(kWrongSlope), ContainsSubstring("gradient of input 0: expected about"));
  CHECK_THAT(message_of(kNoSlope), ContainsSubstring("gradient of input 0: expected about"));
  CHECK_THAT(message_of(kBadRule), ContainsSubstring("axes rule"));
  CHECK_THAT(message_of(kWrongKernel),
             ContainsSubstring("the kernel for portable, result 0 beside the plain reference"));
  CHECK_THAT(message_of(kForgetsSum, true), ContainsSubstring("along reduced factor 'i'"));
  CHECK_THAT(message_of(kBadAlias), ContainsSubstring("`alias`"));
}

TEST_CASE("check_layer passes a layer without faults, and names each fault") {
  CHECK(layer_message_of(kFine) == "nothing");
  CHECK_THAT(layer_message_of(kWrongSlope), ContainsSubstring("check_layer: gradient of the input"));
  CHECK_THAT(layer_message_of(kNoSlope),
             ContainsSubstring("parameter 'unused': expected a gradient, got none"));
  CHECK_THAT(layer_message_of(kWrongKernel), ContainsSubstring("beside the plain references"));
}
