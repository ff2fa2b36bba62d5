// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"
#include "catch.hpp"

#include <wafer/error.hpp>

#include <limits>

using namespace wafer;

TEST_CASE("svg: one document of known text") {
  Svg svg(100, 50.5);
  svg.rectangle(1, 2.25, 3.999, 10, {.fill = "#ff0000"}, "a < b & \"c\"");
  svg.line(0, -0.004, 5, -1.5, {.stroke = "black", .width = 2, .opacity = 0.5});
  svg.text(5, 6, "x>y", {.anchor = Svg::Anchor::end, .turn = -90});
  CHECK(svg.document() ==
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50.5\" viewBox=\"0 0 100 50.5\" "
        "font-family=\"sans-serif\">\n"
        "<rect x=\"0\" y=\"0\" width=\"100\" height=\"50.5\" fill=\"white\"/>\n"
        "<rect x=\"1\" y=\"2.25\" width=\"4\" height=\"10\" fill=\"#ff0000\"><title>a &lt; b &amp; "
        "&quot;c&quot;</title></rect>\n"
        "<line x1=\"0\" y1=\"0\" x2=\"5\" y2=\"-1.5\" fill=\"none\" stroke=\"black\" stroke-width=\"2\" "
        "opacity=\"0.5\"/>\n"
        "<text x=\"5\" y=\"6\" font-size=\"12\" fill=\"#222222\" text-anchor=\"end\" transform=\"rotate(-90 "
        "5 6)\">"
        "x&gt;y</text>\n"
        "</svg>\n");
  CHECK_THROWS_AS(svg.circle(std::numeric_limits<double>::infinity(), 0, 1, {}), InternalError);
}

TEST_CASE("svg: marks and colours") {
  CHECK(mark_distance(0, 10) == 1);
  CHECK(mark_distance(10, 10) == 1);
  CHECK(mark_distance(11, 10) == 2);
  CHECK(mark_distance(20, 10) == 2);
  CHECK(mark_distance(21, 10) == 2);
  CHECK(mark_distance(1000, 10) == 100);
  CHECK(mark_distance(std::numeric_limits<Index>::max(), 10) == 1'000'000'000'000'000'000);
  CHECK(load_colour(0) == "#ffffff");
  CHECK(load_colour(0.5) == "#fb6a4a");
  CHECK(load_colour(7) == "#99000d");
  CHECK(kind_colour(0) == kind_colour(10));
}
