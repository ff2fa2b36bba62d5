// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace wafer::inline v0 {

namespace {

constexpr double kLargest = 1e9;

// At most two decimals, without trailing zeros; by integers, so that no locale has a say.
std::string number(double value) {
  if (!(std::abs(value) <= kLargest))
    throw InternalError("a coordinate of a picture is not a number below 1e9");
  const auto hundredths = static_cast<long long>(std::llround(std::abs(value) * 100));
  std::string text = value < 0 && hundredths != 0 ? "-" : "";
  text += std::to_string(hundredths / 100);
  if (const auto rest = hundredths % 100; rest != 0) {
    text += '.';
    text += static_cast<char>('0' + rest / 10);
    if (rest % 10 != 0) text += static_cast<char>('0' + rest % 10);
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;  // XML has no such letters
    }
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string text = " ";
  text += name;
  text += "=\"";
  text += escaped(value);
  text += '"';
  return text;
}

std::string attribute(std::string_view name, double value) { return attribute(name, number(value)); }

std::string look(const Svg::Style& style) {
  std::string text = attribute("fill", style.fill);
  if (style.stroke != "none")
    text += attribute("stroke", style.stroke) + attribute("stroke-width", style.width);
  if (style.opacity != 1) text += attribute("opacity", style.opacity);
  return text;
}

}  // namespace

Svg::Svg(double width, double height) {
  text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
          attribute("height", height) + attribute("viewBox", "0 0 " + number(width) + " " + number(height)) +
          attribute("font-family", "sans-serif") + ">\n";
  rectangle(0, 0, width, height, {.fill = "white"});
}

void Svg::close(std::string_view name, std::string_view hint) {
  if (hint.empty()) {
    text_ += "/>\n";
    return;
  }
  text_ += "><title>" + escaped(hint) + "</title></";
  text_ += name;
  text_ += ">\n";
}

void Svg::rectangle(double x, double y, double width, double height, const Style& style,
                    std::string_view hint) {
  text_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + look(style);
  close("rect", hint);
}

void Svg::circle(double x, double y, double radius, const Style& style, std::string_view hint) {
  text_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + look(style);
  close("circle", hint);
}

void Svg::line(double x1, double y1, double x2, double y2, const Style& style, std::string_view hint) {
  text_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
           look(style);
  close("line", hint);
}

void Svg::polyline(const std::vector<Point>& points, const Style& style, std::string_view hint) {
  std::string list;
  for (const Point& p : points) list += (list.empty() ? "" : " ") + number(p.x) + "," + number(p.y);
  text_ += "<polyline" + attribute("points", list) + look(style);
  close("polyline", hint);
}

void Svg::text(double x, double y, std::string_view words, const Font& font) {
  constexpr std::array<std::string_view, 3> anchors{"start", "middle", "end"};
  text_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", font.size) +
           attribute("fill", font.colour);
  if (font.anchor != Anchor::start)
    text_ += attribute("text-anchor", anchors[static_cast<std::size_t>(font.anchor)]);
  if (font.turn != 0)
    text_ += attribute("transform", "rotate(" + number(font.turn) + " " + number(x) + " " + number(y) + ")");
  text_ += ">" + escaped(words) + "</text>\n";
}

std::string Svg::document() const { return text_ + "</svg>\n"; }

std::string_view kind_colour(Index k) {
  constexpr std::array<std::string_view, 10> colours{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                                     "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"};
  const auto count = static_cast<Index>(colours.size());
  return colours[static_cast<std::size_t>((k % count + count) % count)];
}

std::string load_colour(double load) {
  const double part = load > 0 ? std::min(load, 1.0) : 0;  // a load that is no number is none
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::array<double, 3> dark{153, 0, 13}, middle{251, 106, 74}, white{255, 255, 255};
  std::string colour = "#";
  for (std::size_t c = 0; c < 3; ++c) {
    const double value = part < 0.5 ? white[c] + (middle[c] - white[c]) * part * 2
                                    : middle[c] + (dark[c] - middle[c]) * (part * 2 - 1);
    const auto byte = static_cast<std::size_t>(std::lround(value));
    colour += digits[byte / 16];
    colour += digits[byte % 16];
  }
  return colour;
}

double draw_loads(Svg& svg, double x, double y, double from, double to) {
  constexpr int kPieces = 6;
  constexpr double kSide = 12;
  for (int i = 0; i < kPieces; ++i) {
    const std::string colour = load_colour(from + (to - from) * i / (kPieces - 1));
    svg.rectangle(x + kSide * i, y, kSide, kSide, {.fill = colour, .stroke = "#bbbbbb", .width = 0.5});
  }
  return x + kSide * kPieces + 6;
}

Index mark_distance(Index extent, Index marks) {
  Index distance = 1;
  constexpr std::array<Index, 3> steps{2, 5, 10};
  for (Index decade = 1;; decade *= 10) {
    for (const Index step : steps) {
      if (extent / distance <= marks) return distance;
      if (decade > std::numeric_limits<Index>::max() / 10) return extent;
      distance = decade * step;
    }
  }
}

}  // namespace wafer::inline v0
