// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge_fixture.hpp"

#include <wafer/bridge/xtensor.hpp>

// xtensor 0.26 moved its headers.
#if __has_include(<xtensor/views/xstrided_view.hpp>)
#include <xtensor/containers/xfixed.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xbuilder.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

using namespace bridge_test;

namespace {

using Array = xt::xarray<float>;
using Labels = xt::xtensor<std::int32_t, 1>;
using Extents = std::vector<std::size_t>;

// 1, 2, 3, ... in row-major order.
Array counted(const Extents& shape) {
  Array out = Array::from_shape(shape);
  float value = 0;
  for (float& element : out) element = ++value;
  return out;
}

const Labels kLabels{7, -8, 9, 0};

}  // namespace

TEST_CASE("xtensor: feeds, results and weights with values known by hand, on a host and on a mesh") {
  for (const bool mesh : {false, true}) {
    Session session = Network{}.session(mesh);
    const Array x{{1, 0, 0}, {0, 1, 0}};
    set_variable(session, "w", Array{{1, 2}, {3, 4}, {5, 6}});
    set_variable(session, "bias", Array{10, 20});
    set_variable(session, "scale", Array(2));
    set_variable(session, "cube", counted({1, 2, 3}));
    CHECK(session.get("w") == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK((get_xarray(session, "w") == Array{{1, 2}, {3, 4}, {5, 6}}));
    CHECK((get_xarray(session, "bias") == Array{10, 20}));
    CHECK((get_xarray(session, "scale") == Array(2)));
    CHECK((get_xarray(session, "cube") == counted({1, 2, 3})));

    const Result seen =
        session.step("look", {feed("x", x), feed("label", xt::view(kLabels, xt::range(0, 2)))});
    CHECK((as_xarray(seen["x"]) == x));
    CHECK((as_xarray(seen["y"]) == Array{{11, 22}, {13, 24}}));
    CHECK((as_xarray<std::int32_t>(seen["label"]) == Labels{7, -8}));
    CHECK(as_xarray(seen["total"])() == 70);
    CHECK(as_xarray(seen["total"]).dimension() == 0);
    CHECK((as_xarray(seen["cube"]) == Array{{{1, 2, 3}, {4, 5, 6}}}));

    // The gradient of the sum of y is the number of rows for the bias, and the sum of x over rows for each
    // column of w.
    session.step("train", {feed("x", x)});
    CHECK((get_xarray(session, "w") == Array{{0, 1}, {2, 3}, {5, 6}}));
    CHECK((get_xarray(session, "bias") == Array{8, 18}));
  }
}

TEST_CASE("xtensor: odd, prime, single and no rows, of any rank") {
  for (const bool mesh : {false, true}) {
    Session vectors = echo(mesh), matrices = echo(mesh, 13), cubes = echo(mesh, 3, 1, 2);
    for (const std::size_t rows : {0U, 1U, 2U, 7U, 13U}) {
      INFO(rows << " rows" << (mesh ? ", mesh" : ", host"));
      const auto check = [](Session& session, const Array& x) {
        const Result result = session.step({feed("x", x)});
        const auto seen = as_xarray(result["x"]);
        CHECK(Extents(seen.shape().begin(), seen.shape().end()) ==
              Extents(x.shape().begin(), x.shape().end()));
        CHECK(std::vector<float>(seen.begin(), seen.end()) == std::vector<float>(x.begin(), x.end()));
        CHECK(seen.data() == result["x"].values<float>().data());
      };
      check(vectors, counted({rows}));
      check(matrices, counted({rows, 13}));
      check(cubes, counted({rows, 3, 1, 2}));
    }
  }
}

TEST_CASE("xtensor: what lies row-major in memory is fed, whatever its type") {
  Session session = echo(false, 3);
  const Array x = counted({4, 3});
  const auto fed = [&](const auto& values) {
    return Array(as_xarray(session.step({feed("x", values)})["x"]));
  };
  const std::vector<float> flat(x.begin(), x.end());
  CHECK((fed(xt::xtensor<float, 2>(x)) == x));
  CHECK((fed(xt::xtensor_fixed<float, xt::xshape<4, 3>>(x)) == x));
  CHECK((fed(xt::adapt(flat, Extents{4, 3})) == x));
  CHECK((fed(xt::adapt(flat.data(), flat.size(), xt::no_ownership(), Extents{4, 3})) == x));
  CHECK((fed(xt::view(x, xt::range(1, 3), xt::all())) == xt::view(x, xt::range(1, 3), xt::all())));
  CHECK((fed(xt::strided_view(x, {xt::range(2, 4), xt::all()})) == xt::view(x, xt::range(2, 4), xt::all())));
  CHECK((fed(xt::xarray<float, xt::layout_type::dynamic>(x)) == x));
  CHECK((fed(Array(x * 2)) == 2 * x));  // lives as long as the step
  // An extent of 1 has no gap that could matter.
  CHECK((fed(xt::strided_view(x, {xt::range(3, 0, -3), xt::all()})) ==
         xt::view(x, xt::range(3, 4), xt::all())));
}

TEST_CASE("xtensor: gaps and other orders that show at run time name the input and change nothing") {
  Session session = Network{}.session(false);
  const Array wide = counted({4, 5});
  const std::string gap =
      message_of<RunError>([&] { feed("x", xt::view(wide, xt::all(), xt::range(0, 3))); });
  CHECK(gap == "input 'x': expected [4, 3] row-major without gaps, with a stride of 3 in dimension 0, got 5");
  const std::string column =
      message_of<RunError>([&] { feed(session.bind("x"), xt::view(wide, xt::all(), 2)); });
  CHECK(column ==
        "input '#0': expected [4] row-major without gaps, with a stride of 1 in dimension 0, got 5");
  xt::xarray<float, xt::layout_type::dynamic> columns_first(Extents{4, 3}, xt::layout_type::column_major);
  CHECK_THROWS_AS(feed("x", columns_first), RunError);
  CHECK_THROWS_AS(feed("x", xt::transpose(wide)), RunError);
  CHECK_THROWS_AS(feed("x", xt::strided_view(wide, {xt::range(3, 0, -1), xt::all()})), RunError);
  CHECK_THROWS_AS(feed("x", counted(Extents(9, 1))), UserError);
}

TEST_CASE("xtensor: wrong shapes and types are typed errors") {
  Session session = Network{}.session(false);
  const Array x = counted({4, 3});
  expect_message<RunError>(
      [&] {
        session.step("train", {feed("x", counted({4, 2}))});
      },
      {"'x'", "3", "[4, 2]"});
  expect_message<RunError>([&] { session.step("train", {feed("x", counted({12}))}); },
                           {"'x'", "rank 2", "[12]"});
  expect_message<RunError>([&] { session.step("train", {feed("x", kLabels)}); }, {"'x'", "f32", "i32"});
  const Result seen = session.step("look", {feed(session.bind("x"), x), feed("label", kLabels)});
  expect_message<RunError>([&] { as_xarray<std::int32_t>(seen["y"]); }, {"'y'", "f32", "std::int32_t"});

  for (const Extents& shape : {Extents{2, 3}, Extents{6}, Extents{3, 2, 1}, Extents{}}) {
    expect_message<RunError>([&] { set_variable(session, "w", counted(shape)); },
                             {"parameter 'w'", "expected [3, 2]", "got ["});
  }
  expect_message<RunError>(
      [&] {
        set_variable(session, "bias", counted({1, 2}));
      },
      {"'bias'", "[2]", "[1, 2]"});
  expect_message<RunError>([&] { set_variable(session, "v", x); }, {"'v'"});
  expect_message<RunError>([&] { get_xarray(session, "v"); }, {"'v'"});
  CHECK(session.get("w") == std::vector<float>(6, 0));
}

TEST_CASE("xtensor: a variable is set by any expression") {
  for (const bool mesh : {false, true}) {
    Session session = Network{}.session(mesh);
    set_variable(session, "w", xt::xarray<float, xt::layout_type::column_major>(counted({3, 2})));
    CHECK(session.get("w") == std::vector<float>{1, 2, 3, 4, 5, 6});
    set_variable(session, "w", xt::transpose(counted({2, 3})) * 2.0F);
    CHECK(session.get("w") == std::vector<float>{2, 8, 4, 10, 6, 12});
    set_variable(session, "w", xt::broadcast(counted({2}), {3, 2}));
    CHECK(session.get("w") == std::vector<float>{1, 2, 1, 2, 1, 2});
    set_variable(session, "w", get_xarray(session, "w") + xt::ones<float>({3, 2}));
    CHECK(session.get("w") == std::vector<float>{2, 3, 2, 3, 2, 3});
    set_variable(session, "w", xt::cast<float>(xt::ones<double>({3, 2}) / 2));
    CHECK(session.get("w") == std::vector<float>(6, 0.5F));
  }
}
