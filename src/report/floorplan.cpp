// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/report/floorplan.hpp>

#include "report/svg.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMost = 20'000;
constexpr double kLeft = 20, kTop = 78, kSide = 900, kBottom = 20;
constexpr double kLeastWidth = 640;     // of the words at the top
constexpr double kRoomForLetter = 6.5;  // pixels
constexpr std::string_view kFaulty = "#222222";
constexpr Svg::Style kConnection{.stroke = "#1f4e9b", .width = 1.5, .opacity = 0.6};
constexpr double kLightest = 0.04, kDarkest = 0.62;  // loads that leave names readable

std::string decimal(double value, int places) {
  if (!(value < 1e15)) {  // more digits than a number has
    std::array<char, 32> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::scientific, 3);
    return {digits.data(), end.ptr};
  }
  Index unit = 1;
  for (int k = 0; k < places; ++k) unit *= 10;
  const auto whole = static_cast<Index>(value * static_cast<double>(unit) + 0.5);
  std::string rest = std::to_string(whole % unit);
  rest.insert(0, static_cast<std::size_t>(places) - rest.size(), '0');
  return std::to_string(whole / unit) + "." + rest;
}

void check(const FloorRequest& request, const FloorPlan& plan, std::span<const std::string> names) {
  const std::size_t kernels = request.kernels.size();
  if (plan.kernels.size() != kernels || (!names.empty() && names.size() != kernels)) {
    throw UserError("a picture of " + std::to_string(kernels) + " kernels: the plan has " +
                    std::to_string(plan.kernels.size()) + ", " + std::to_string(names.size()) +
                    " names came");
  }
  if (kernels > kMost || request.connections.size() > kMost)
    throw UserError("a picture of at most " + std::to_string(kMost) +
                    " kernels and connections was expected");
  plan.verify(request);
}

double time_of(const FloorRequest& request, const FloorPlan& plan, std::size_t kernel) {
  return request.kernels[kernel].shapes[static_cast<std::size_t>(plan.kernels[kernel].shape)].time;
}

/// A kernel's share of the longest time.
double share_of(const FloorRequest& request, const FloorPlan& plan, std::size_t kernel) {
  return plan.time > 0 ? time_of(request, plan, kernel) / plan.time : 0;
}

/// From the least share of any kernel to all: balanced plans would be of one shade otherwise.
std::string shade_of(double share, double least) {
  const double part = least < 1 ? (share - least) / (1 - least) : 1;
  return load_colour(kLightest + (kDarkest - kLightest) * part);
}

void draw_legend(Svg& svg, const FloorRequest& request, double least) {
  constexpr double kBase = 62;
  const std::string from = decimal(least * 100, 1) + " %";
  svg.text(kLeft, kBase, from);
  double x = kLeft + kRoomForLetter * static_cast<double>(from.size()) + 8;
  x = draw_loads(svg, x, kBase - 10, kLightest, kDarkest);
  const std::string to = "100 % of the longest time";
  svg.text(x, kBase, to);
  x += kRoomForLetter * static_cast<double>(to.size()) + 10;
  if (!request.faulty.empty()) {
    svg.rectangle(x, kBase - 10, 16, 12, {.fill = kFaulty});
    svg.text(x + 22, kBase, "faulty");
    x += 80;
  }
  if (request.connections.empty()) return;
  svg.line(x, kBase - 4, x + 16, kBase - 4, kConnection);
  svg.text(x + 22, kBase, "connection");
}

}  // namespace

std::string floorplan_svg(const FloorRequest& request, const FloorPlan& plan,
                          std::span<const std::string> names) {
  check(request, plan, names);
  const auto longest = static_cast<double>(std::max({request.rows, request.columns, Index{1}}));
  const double scale = kSide / longest;
  const auto x = [&](double column) { return kLeft + column * scale; };
  const auto y = [&](double row) { return kTop + row * scale; };
  Svg svg(kLeft * 2 + std::max(kLeastWidth, static_cast<double>(request.columns) * scale),
          kTop + static_cast<double>(request.rows) * scale + kBottom);
  svg.text(kLeft, 22,
           std::to_string(request.kernels.size()) + " kernels on " + std::to_string(request.rows) + " x " +
               std::to_string(request.columns) + " cores, utilisation " + decimal(plan.utilisation * 100, 1) +
               " %",
           {.size = 15});
  svg.text(kLeft, 42,
           "modelled: slowest kernel " + decimal(plan.time, 1) + " (bound " + decimal(plan.time_bound, 1) +
               "), length " + decimal(plan.length, 1) + ", score " + decimal(plan.score, 1));
  svg.rectangle(x(0), y(0), static_cast<double>(request.columns) * scale,
                static_cast<double>(request.rows) * scale, {.fill = "#f3f3f3", .stroke = "#222222"},
                "free cores");
  const auto draw = [&](const FloorRectangle& r, const Svg::Style& style, const std::string& hint) {
    svg.rectangle(x(static_cast<double>(r.column)), y(static_cast<double>(r.row)),
                  static_cast<double>(r.width) * scale, static_cast<double>(r.height) * scale, style, hint);
  };
  for (const FloorRectangle& fault : request.faulty) draw(fault, {.fill = kFaulty}, "faulty cores");
  const auto middle = [&](std::size_t k) {
    const FloorRectangle& p = plan.kernels[k].place;
    return Svg::Point{x(static_cast<double>(p.column) + static_cast<double>(p.width) / 2),
                      y(static_cast<double>(p.row) + static_cast<double>(p.height) / 2)};
  };
  double least = 1;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) least = std::min(least, share_of(request, plan, k));
  draw_legend(svg, request, least);
  const auto name_of = [&](std::size_t k) {
    return names.empty() ? "kernel " + std::to_string(k) : names[k];
  };
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const FloorPlan::Kernel& kernel = plan.kernels[k];
    const double share = share_of(request, plan, k);
    draw(kernel.place, {.fill = shade_of(share, least), .stroke = "#222222", .width = 0.7},
         name_of(k) + ": " + std::to_string(kernel.place.height) + " x " +
             std::to_string(kernel.place.width) + " cores" + (kernel.turned ? ", turned" : "") +
             ", modelled time " + decimal(time_of(request, plan, k), 1) + ", " + decimal(share * 100, 1) +
             " % of the slowest");
  }
  for (const FloorConnection& c : request.connections) {
    const Svg::Point from = middle(static_cast<std::size_t>(c.from)),
                     to = middle(static_cast<std::size_t>(c.to));
    svg.line(from.x, from.y, to.x, to.y, kConnection);
  }
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const std::string name = name_of(k);
    const double width = static_cast<double>(plan.kernels[k].place.width) * scale,
                 height = static_cast<double>(plan.kernels[k].place.height) * scale,
                 needed = kRoomForLetter * static_cast<double>(name.size());
    if (std::max(width, height) < needed || std::min(width, height) < 12) continue;
    const bool upright = width < needed;
    // On a ground of the kernel's own shade, which ends the connections beside the name.
    const Svg::Point at = middle(k);
    const double wide = upright ? 12 : needed, high = upright ? needed : 12;
    svg.rectangle(at.x - wide / 2, at.y - high / 2, wide, high,
                  {.fill = shade_of(share_of(request, plan, k), least)});
    svg.text(at.x + (upright ? 4 : 0), at.y + (upright ? 0 : 4), name,
             {.size = 11, .anchor = Svg::Anchor::middle, .turn = upright ? -90.0 : 0.0});
  }
  return svg.document();
}

}  // namespace wafer::inline v0
