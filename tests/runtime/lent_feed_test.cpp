// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

using namespace wafer;

namespace test_lent_feed {

const void* place = nullptr;

/// Says whether its input lies at `place`: 1 or 0 in each element.
struct LiesAtPlace {
  static constexpr std::string_view name = "test.lies_at_place";
  static constexpr auto attributes() { return std::tuple{}; }
  Types infer(const Types& in) const { return {in.at(0)}; }
  AxesRule axes(const Types& in) const {
    AxesRule rule;
    AxesRule::Dims dims;
    for (int d = 0; d < in.at(0).shape.rank(); ++d) dims.push_back({rule.whole("d", in.at(0).shape[d])});
    rule.operand(dims);
    rule.result(dims);
    return rule;
  }
  void run(const Context&, Tiles in, Tiles out) const {
    for_each_index(in[0].rank, in[0].extent, [&](const std::array<Index, kMaxRank>& index) {
      element<float>(out[0], index) = in[0].data == place ? 1 : 0;
    });
  }
};

}  // namespace test_lent_feed

namespace {

using test_lent_feed::LiesAtPlace;

constexpr Index kRows = 128, kColumns = 200;  // 100 KiB

std::vector<float> numbers(Index count, float first) {
  std::vector<float> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::vector<float> doubled(std::span<const float> values) {
  std::vector<float> out;
  for (float v : values) out.push_back(2 * v);
  return out;
}

std::vector<float> list(const FetchedTensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("large feeds are read where they lie, small ones from planned memory") {
  for (const Index rows : {kRows, Index{3}}) {
    Graph g;
    const Tensor x = g.input("x", {rows, kColumns});
    Session session{compile(fetch("y", apply(LiesAtPlace{}, {x}).at(0)), Fabric::host())};
    const std::vector<float> values = numbers(rows * kColumns, 0);
    test_lent_feed::place = values.data();
    const std::vector<float> expected(values.size(), rows == kRows ? 1.0F : 0.0F);
    CHECK(list(session.step({{"x", values}})["y"]) == expected);
  }
}

TEST_CASE("feeds may lie elsewhere in each step, change in place, or be shorter") {
  for (const Index threads : {1, 2}) {
    Graph g;
    const Axis b = g.axis("b", kRows);
    const Tensor x = g.input("x", {b, kColumns});
    Session session{compile(fetch("y", x + x), Fabric::host(), {.threads = threads}), {.threads = threads}};
    std::vector<float> one = numbers(kRows * kColumns, 0), other = numbers(kRows * kColumns, 7);
    for (int round = 0; round < 3; ++round) {
      CHECK(list(session.step({{"x", one}})["y"]) == doubled(one));
      CHECK(list(session.step({{"x", other}})["y"]) == doubled(other));
      one[5] += 1;
      other.back() = -1;
      CHECK(list(session.step({{"x", other}})["y"]) == doubled(other));
    }
    for (const Index rows : {Index{127}, Index{1}, Index{0}, kRows}) {
      const auto part = std::span(other).first(static_cast<std::size_t>(rows * kColumns));
      CHECK(list(session.step({{"x", part}})["y"]) == doubled(part));
    }
  }
}

TEST_CASE("a large feed with gaps in planned memory is copied, as is one that is not aligned") {
  Graph g;
  const Axis b = g.axis("b", 4), inner = g.axis("inner", 8000);
  const Tensor x = g.input("x", {b, inner});
  Session session{compile(fetch("y", x + x), Fabric::host())};
  const std::vector<float> values = numbers(4 * 7001, 1);
  CHECK(list(session.step({{"x", values, Shape{4, 7001}}})["y"]) == doubled(values));
  const std::vector<float> whole = numbers(4 * 8000, 3);
  std::vector<std::byte> bytes(whole.size() * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, whole.data(), whole.size() * sizeof(float));
  Feed feed{"x", std::span<const float>(), Shape{4, 8000}};
  feed.data = bytes.data() + 1;
  feed.size = 4 * 8000;
  CHECK(list(session.step({feed})["y"]) == doubled(whole));
}

TEST_CASE("a large feed that is fetched, or is the session's own result, is copied") {
  Graph g;
  const Tensor x = g.input("x", {kRows, kColumns});
  Session session{compile(fetch("x", x).fetch("y", x + x), Fabric::host())};
  std::vector<float> values = numbers(kRows * kColumns, 2);
  const std::vector<float> before = values;
  const Result result = session.step({{"x", values}});
  values.assign(values.size(), 0.0F);
  CHECK(list(result["x"]) == before);
  const Result again = session.step({{"x", result["y"].values<float>()}});
  CHECK(list(again["x"]) == doubled(before));
  CHECK(list(again["y"]) == doubled(doubled(before)));
}

TEST_CASE("an op that may write its result over a large feed leaves the caller's data alone") {
  Graph g;
  const Tensor x = g.input("x", {kRows, kColumns});
  Session session{compile(fetch("y", relu(-x)), Fabric::host())};
  const std::vector<float> values = numbers(kRows * kColumns, -100);
  const std::vector<float> before = values;
  for (int round = 0; round < 2; ++round) {
    const std::vector<float> y = list(session.step({{"x", values}})["y"]);
    for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(y[i] == std::max(0.0F, -before[i]));
    CHECK(values == before);
  }
}
