// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/report/packing.hpp>

#include "report/svg.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostBoxes = 20'000;
constexpr double kLeft = 90, kRight = 30, kTop = 66, kBottom = 40, kWidth = 1200, kHeight = 700;
constexpr double kPale = 0.3;
constexpr Svg::Style kHeightLine{.stroke = "#222222", .width = 1.5},
    kBoundLine{.stroke = "#c0392b", .width = 1.5}, kFixedFrame{.stroke = "#222222", .width = 2};

/// Where moments and bytes lie on the picture.
struct Scale {
  Index begin = 0, end = 1;  // of the clock
  double bytes = 1;          // in all
  double time() const { return std::max(static_cast<double>(end) - static_cast<double>(begin), 1.0); }
  double x(Index moment) const {
    return kLeft + (static_cast<double>(moment) - static_cast<double>(begin)) / time() * kWidth;
  }
  double y(Index offset) const { return kTop + kHeight - static_cast<double>(offset) / bytes * kHeight; }
};

Scale scale_of(std::span<const PackBuffer> buffers, const Packing& packing) {
  Scale scale;
  bool first = true;
  for (const PackBuffer& b : buffers) {
    if (b.begin == b.end) continue;
    scale.begin = first ? b.begin : std::min(scale.begin, b.begin);
    scale.end = first ? b.end : std::max(scale.end, b.end);
    first = false;
  }
  scale.bytes = static_cast<double>(std::max(packing.height, Index{1}));
  return scale;
}

void draw_bytes(Svg& svg, const Scale& scale, const Packing& packing) {
  const Index distance = mark_distance(std::max(packing.height, Index{1}), 10);
  for (Index at = 0; at <= packing.height; at += distance) {
    svg.line(kLeft - 4, scale.y(at), kLeft + kWidth, scale.y(at), {.stroke = "#dddddd"});
    svg.text(kLeft - 8, scale.y(at) + 4, std::to_string(at), {.size = 10, .anchor = Svg::Anchor::end});
    if (distance > packing.height - at) break;  // the next one may not be a number
  }
  svg.line(kLeft, scale.y(packing.height), kLeft + kWidth, scale.y(packing.height), kHeightLine, "height");
  svg.line(kLeft, scale.y(packing.max_live), kLeft + kWidth, scale.y(packing.max_live), kBoundLine,
           "max-live bound");
}

void draw_moments(Svg& svg, const Scale& scale) {
  constexpr double kBase = kTop + kHeight;
  const auto span = static_cast<std::uint64_t>(scale.end) - static_cast<std::uint64_t>(scale.begin);
  if (span > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) return;
  const Index distance = mark_distance(static_cast<Index>(span), 12);
  const Index beyond = scale.begin % distance;
  const Index next = beyond > 0 ? distance - beyond : -beyond;  // to the first mark
  if (next > scale.end - scale.begin) return;
  for (Index at = scale.begin + next; at <= scale.end; at += distance) {
    svg.line(scale.x(at), kBase, scale.x(at), kBase + 4, {.stroke = "#222222"});
    svg.text(scale.x(at), kBase + 15, std::to_string(at), {.size = 10, .anchor = Svg::Anchor::middle});
    if (distance > scale.end - at) break;  // the next one may not be a number
  }
}

void draw_legend(Svg& svg) {
  constexpr double kBase = 48;
  svg.line(kLeft, kBase - 4, kLeft + 24, kBase - 4, kHeightLine);
  svg.text(kLeft + 30, kBase, "height");
  svg.line(kLeft + 100, kBase - 4, kLeft + 124, kBase - 4, kBoundLine);
  svg.text(kLeft + 130, kBase,
           "max-live bound: the most bytes that live at one time, so no packing is lower");
  svg.rectangle(kLeft + 620, kBase - 10, 16, 12, kFixedFrame);
  svg.text(kLeft + 642, kBase, "offset given");
  svg.rectangle(kLeft + 740, kBase - 10, 16, 12, {.fill = kind_colour(0), .opacity = kPale});
  svg.text(kLeft + 762, kBase, "padding");
}

}  // namespace

std::string packing_svg(std::span<const PackBuffer> buffers, const Packing& packing) {
  if (buffers.size() > kMostBoxes) {
    throw UserError("a picture of at most " + std::to_string(kMostBoxes) + " buffers was expected, got " +
                    std::to_string(buffers.size()));
  }
  if (packing.offsets.size() != buffers.size()) {
    throw UserError("a picture of " + std::to_string(buffers.size()) + " buffers: the packing has " +
                    std::to_string(packing.offsets.size()) + " offsets");
  }
  packing.verify(buffers);
  const Scale scale = scale_of(buffers, packing);
  Svg svg(kLeft + kWidth + kRight, kTop + kHeight + kBottom);
  svg.text(kLeft, 24,
           std::to_string(buffers.size()) + " buffers, height " + std::to_string(packing.height) +
               " bytes, max-live bound " + std::to_string(packing.max_live) +
               (packing.optimal ? " (proved lowest)" : ""),
           {.size = 15});
  draw_legend(svg);
  draw_bytes(svg, scale, packing);
  draw_moments(svg, scale);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PackBuffer& b = buffers[i];
    if (b.begin == b.end || b.size + b.padding == 0) continue;
    const Index offset = packing.offsets[i], top = offset + b.size;
    const double x = scale.x(b.begin), width = scale.x(b.end) - x;
    const std::string hint = "buffer " + std::to_string(i) + ": " + std::to_string(b.size) + " bytes at " +
                             std::to_string(offset) + (b.offset ? " (given)" : "") + ", lives from " +
                             std::to_string(b.begin) + " to " + std::to_string(b.end);
    const std::string_view colour = kind_colour(static_cast<Index>(i));
    svg.rectangle(x, scale.y(top), width, scale.y(offset) - scale.y(top),
                  {.fill = colour, .stroke = "white", .width = 0.5, .opacity = 0.85}, hint);
    if (b.padding > 0) {
      svg.rectangle(x, scale.y(top + b.padding), width, scale.y(top) - scale.y(top + b.padding),
                    {.fill = colour, .stroke = "white", .width = 0.5, .opacity = kPale}, hint + " (padding)");
    }
    // Inside, so that its neighbours do not hide it.
    if (b.offset && width > 2 && scale.y(offset) - scale.y(top) > 2) {
      svg.rectangle(x + 1, scale.y(top) + 1, width - 2, scale.y(offset) - scale.y(top) - 2, kFixedFrame,
                    hint);
    }
  }
  svg.text(kLeft + kWidth / 2, kTop + kHeight + 32, "time", {.anchor = Svg::Anchor::middle});
  svg.text(20, kTop + kHeight / 2, "offset, bytes", {.anchor = Svg::Anchor::middle, .turn = -90});
  return svg.document();
}

}  // namespace wafer::inline v0
