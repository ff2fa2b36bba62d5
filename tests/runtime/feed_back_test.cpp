// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

#include "catch.hpp"

#include <vector>

using namespace wafer;

namespace {

constexpr Index kRows = 16, kColumns = 32;

std::vector<float> copy_of(const FetchedTensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> numbers(int period) {
  std::vector<float> out;
  for (int i = 0; i < kRows * kColumns; ++i) out.push_back(static_cast<float>(i % period) / 8.0F);
  return out;
}

}  // namespace

TEST_CASE("results may be fed back as they are, in place or crosswise") {
  Graph g;
  const Axis b = g.axis("b", kRows);
  const Tensor p = g.input("p", {b, kColumns}), q = g.input("q", {b, kColumns});
  const Executable executable =
      compile(fetch("p", relu(p * 0.5 + q)).fetch("q", q * 0.25 - p), Fabric::host());
  Session views{executable}, copies{executable};
  std::vector<float> a = numbers(17), c = numbers(13);
  Result result = views.step({{"p", a}, {"q", c}});
  for (int round = 0; round < 6; ++round) {
    const Result expected = copies.step({{"p", a}, {"q", c}});
    a = copy_of(expected["p"]);
    c = copy_of(expected["q"]);
    REQUIRE(copy_of(result["p"]) == a);
    REQUIRE(copy_of(result["q"]) == c);
    if (round % 2 == 1) std::swap(a, c);
    const char* const first = round % 2 == 1 ? "q" : "p";
    const char* const second = round % 2 == 1 ? "p" : "q";
    result = views.step({{"p", result[first].values<float>()}, {"q", result[second].values<float>()}});
  }
}
