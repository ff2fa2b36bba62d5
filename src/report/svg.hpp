// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// One SVG picture (https://www.w3.org/TR/SVG11/), shapes in the order in which they are drawn. Coordinates
/// are pixels from the upper left corner, y downwards, written with at most two decimals in the "C" format,
/// so that the text is the same on every machine. A coordinate that is not finite or beyond 1e9 is an
/// InternalError.
class Svg {
 public:
  struct Point {
    double x = 0, y = 0;
  };
  /// Colours as CSS writes them: "#1f77b4", "black", "none".
  struct Style {
    std::string_view fill = "none";
    std::string_view stroke = "none";
    double width = 1;    ///< of the stroke
    double opacity = 1;  ///< of fill and stroke
  };
  enum class Anchor { start, middle, end };
  struct Font {
    double size = 12;
    Anchor anchor = Anchor::start;
    std::string_view colour = "#222222";
    double turn = 0;  ///< degrees clockwise about the anchor
  };

  /// A white picture of this size.
  Svg(double width, double height);

  /// `hint`, here and below: shown where the pointer rests on the shape; any UTF-8.
  void rectangle(double x, double y, double width, double height, const Style& style,
                 std::string_view hint = {});
  void circle(double x, double y, double radius, const Style& style, std::string_view hint = {});
  void line(double x1, double y1, double x2, double y2, const Style& style, std::string_view hint = {});
  /// Open: points joined by straight lines.
  void polyline(const std::vector<Point>& points, const Style& style, std::string_view hint = {});
  /// `y` is the base line.
  void text(double x, double y, std::string_view text, const Font& font);
  void text(double x, double y, std::string_view words) { text(x, y, words, Font{}); }

  /// The whole document.
  std::string document() const;

 private:
  void close(std::string_view name, std::string_view hint);

  std::string text_;
};

/// Colours that are easy to tell apart, for the k-th of a few kinds; they repeat after ten.
std::string_view kind_colour(Index k);

/// White to dark red for a load of 0 to 1; what lies outside is drawn as the nearer end.
std::string load_colour(double load);

/// For legends: a strip of the colours from load `from` to load `to`, its upper left corner here. Gives the x
/// of what stands beside it.
double draw_loads(Svg& svg, double x, double y, double from = 0, double to = 1);

/// Distance of the marks of an axis of this extent, at most `marks` (> 0) of them after the first: 1, 2 or 5
/// times a power of ten, at least 1.
Index mark_distance(Index extent, Index marks);

}  // namespace wafer::inline v0
