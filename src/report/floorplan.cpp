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
constexpr double kLeft = 20, kTop = 56, kSide = 900, kBottom = 20;
constexpr double kRoomForLetter = 6.5;  // pixels

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

}  // namespace

std::string floorplan_svg(const FloorRequest& request, const FloorPlan& plan,
                          std::span<const std::string> names) {
  check(request, plan, names);
  const auto longest = static_cast<double>(std::max({request.rows, request.columns, Index{1}}));
  const double scale = kSide / longest;
  const auto x = [&](double column) { return kLeft + column * scale; };
  const auto y = [&](double row) { return kTop + row * scale; };
  Svg svg(kLeft * 2 + static_cast<double>(request.columns) * scale,
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
  for (const FloorRectangle& fault : request.faulty) draw(fault, {.fill = "#222222"}, "faulty cores");
  const auto middle = [&](std::size_t k) {
    const FloorRectangle& p = plan.kernels[k].place;
    return Svg::Point{x(static_cast<double>(p.column) + static_cast<double>(p.width) / 2),
                      y(static_cast<double>(p.row) + static_cast<double>(p.height) / 2)};
  };
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const FloorPlan::Kernel& kernel = plan.kernels[k];
    const double time = request.kernels[k].shapes[static_cast<std::size_t>(kernel.shape)].time;
    const double share = plan.time > 0 ? time / plan.time : 0;
    const std::string name = names.empty() ? "kernel " + std::to_string(k) : names[k];
    draw(kernel.place, {.fill = load_colour(0.15 + 0.45 * share), .stroke = "#222222", .width = 0.7},
         name + ": " + std::to_string(kernel.place.height) + " x " + std::to_string(kernel.place.width) +
             " cores" + (kernel.turned ? ", turned" : "") + ", modelled time " + decimal(time, 1) + ", " +
             decimal(share * 100, 1) + " % of the slowest");
    const double width = static_cast<double>(kernel.place.width) * scale,
                 height = static_cast<double>(kernel.place.height) * scale,
                 needed = kRoomForLetter * static_cast<double>(name.size());
    if (std::max(width, height) < needed || std::min(width, height) < 12) continue;
    svg.text(middle(k).x, middle(k).y + (width < needed ? 0 : 4), name,
             {.size = 11, .anchor = Svg::Anchor::middle, .turn = width < needed ? -90.0 : 0.0});
  }
  for (const FloorConnection& c : request.connections) {
    const Svg::Point from = middle(static_cast<std::size_t>(c.from)),
                     to = middle(static_cast<std::size_t>(c.to));
    svg.line(from.x, from.y, to.x, to.y, {.stroke = "#1f4e9b", .width = 1.5, .opacity = 0.6});
  }
  return svg.document();
}

}  // namespace wafer::inline v0
