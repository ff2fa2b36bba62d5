// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/report/packing.hpp>

#include "report/svg.hpp"

#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostBoxes = 20'000;
constexpr double kLeft = 90, kRight = 30, kTop = 50, kBottom = 40, kWidth = 1200, kHeight = 700;

/// Where moments and bytes lie on the picture.
struct Scale {
  double begin = 0, time = 1, bytes = 1;  // of the clock; units in all
  double x(Index moment) const { return kLeft + (static_cast<double>(moment) - begin) / time * kWidth; }
  double y(Index offset) const { return kTop + kHeight - static_cast<double>(offset) / bytes * kHeight; }
};

Scale scale_of(std::span<const PackBuffer> buffers, const Packing& packing) {
  Scale scale;
  double end = 0;
  bool first = true;
  for (const PackBuffer& b : buffers) {
    if (b.begin == b.end) continue;
    scale.begin = first ? static_cast<double>(b.begin) : std::min(scale.begin, static_cast<double>(b.begin));
    end = first ? static_cast<double>(b.end) : std::max(end, static_cast<double>(b.end));
    first = false;
  }
  scale.time = std::max(end - scale.begin, 1.0);
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
  svg.line(kLeft, scale.y(packing.height), kLeft + kWidth, scale.y(packing.height),
           {.stroke = "#222222", .width = 1.5}, "height");
  svg.line(kLeft, scale.y(packing.max_live), kLeft + kWidth, scale.y(packing.max_live),
           {.stroke = "#c0392b", .width = 1.5}, "max-live bound");
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
  draw_bytes(svg, scale, packing);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PackBuffer& b = buffers[i];
    if (b.begin == b.end || b.size + b.padding == 0) continue;
    const Index offset = packing.offsets[i], top = offset + b.size;
    const double x = scale.x(b.begin), width = scale.x(b.end) - x;
    const std::string hint = "buffer " + std::to_string(i) + ": " + std::to_string(b.size) + " bytes at " +
                             std::to_string(offset) + ", lives from " + std::to_string(b.begin) + " to " +
                             std::to_string(b.end);
    const std::string_view colour = kind_colour(static_cast<Index>(i));
    svg.rectangle(x, scale.y(top), width, scale.y(offset) - scale.y(top),
                  {.fill = colour, .stroke = "white", .width = 0.5, .opacity = 0.85}, hint);
    if (b.padding > 0) {
      svg.rectangle(x, scale.y(top + b.padding), width, scale.y(top) - scale.y(top + b.padding),
                    {.fill = colour, .stroke = "white", .width = 0.5, .opacity = 0.3}, hint + " (padding)");
    }
  }
  svg.text(kLeft + kWidth / 2, kTop + kHeight + 28, "time", {.anchor = Svg::Anchor::middle});
  svg.text(20, kTop + kHeight / 2, "offset, bytes", {.anchor = Svg::Anchor::middle, .turn = -90});
  return svg.document();
}

}  // namespace wafer::inline v0
