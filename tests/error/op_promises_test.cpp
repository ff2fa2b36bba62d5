// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <limits>

using namespace error_test;

namespace {

/// What is wrong with an op of a user's own.
enum class Fault : Index {
  none,
  unknown_factor,
  negative_factor,
  no_unit,
  overflow,
  many_factors,
  unknown_dtype,
  no_kernel,
  negative_scratch,
  unknown_alias,
  infinite_cost
};

/// Passes its input on, [4, 3], and breaks one promise.
struct Liar {
  Index fault = 0;
  static constexpr std::string_view name = "test.liar";
  static constexpr auto attributes() { return std::tuple{attr("fault", &Liar::fault)}; }
  bool is(Fault asked) const { return fault == static_cast<Index>(asked); }

  Types infer(const Types& in) const {
    return {{is(Fault::unknown_dtype) ? static_cast<DType>(99) : in.at(0).dtype, in.at(0).shape}};
  }
  AxesRule axes(const Types&) const {
    AxesRule rule;
    AxesRule::Dim rows{rule.parallel("rows", 4, is(Fault::no_unit) ? 0 : 1)};
    const AxesRule::Dim columns{rule.parallel("columns", 3)};
    if (is(Fault::unknown_factor)) rows = {7};
    if (is(Fault::negative_factor)) rows = {rule.parallel("a", -2), rule.parallel("b", -2)};
    if (is(Fault::overflow)) rows.assign(3, rule.parallel("huge", Index{1} << 62));
    for (int f = 0; is(Fault::many_factors) && f < 200; ++f) rows = {rule.parallel("one of many", 4)};
    rule.operand({rows, columns});
    rule.result({rows, columns});
    return rule;
  }
  void run(const Context&, Tiles in, Tiles out) const {
    for_each_index(2, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = element<float>(in[0], index);
    });
  }
  Kernels kernels(const Types&) const {
    if (is(Fault::no_kernel)) return {Kernel{}};
    if (is(Fault::negative_scratch)) return {Kernel{[](const void*, const Context&, Tiles, Tiles) {}, -8}};
    return {};
  }
  Alias alias(const Types&) const { return is(Fault::unknown_alias) ? Alias{{0, 5}} : Alias{}; }
  Cost cost(const Types&) const {
    return {1, is(Fault::infinite_cost) ? std::numeric_limits<double>::infinity() : 1};
  }
};

// Says what was refused, or "".
std::string refusal(Fault fault, const Fabric& fabric) {
  try {
    Graph g;
    const Tensor x = g.input("x", {4, 3});
    const Tensor y = x | in_scope("mine", Liar{static_cast<Index>(fault)});
    compile(fetch("y", y), fabric);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an op that breaks a promise is refused, naming it and its path") {
  const auto [fault, part] = GENERATE(table<Fault, std::string>({
      {Fault::unknown_factor, "its 2 factors, got 7"},
      {Fault::negative_factor, "extent >= 0"},
      {Fault::no_unit, "unit >= 1"},
      {Fault::overflow, "does not fit into 63 bits"},
      {Fault::many_factors, "at most 127 factors, got 202"},
      {Fault::unknown_dtype, "expected results of f32"},
      {Fault::no_kernel, "function in each kernel"},
      {Fault::negative_scratch, "bytes of scratch, got -8"},
      {Fault::unknown_alias, "numbers 0 and 5"},
      {Fault::infinite_cost, "cost of 0 to 1e18"},
  }));
  for (const Fabric& fabric : {Fabric::host(), Fabric::mesh(2, 2)}) {
    const std::string message = refusal(fault, fabric);
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring("op 'test.liar' at 'mine'"));
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(part));
  }
}

TEST_CASE("the same op without a fault runs") {
  CHECK(refusal(Fault::none, Fabric::host()).empty());
  CHECK(refusal(Fault::none, Fabric::mesh(2, 2)).empty());
}
