// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"

#include <wafer/error.hpp>
#include <wafer/report/collective.hpp>

#include <algorithm>
#include <cmath>

namespace wafer::inline v0 {

namespace {

constexpr Index kMostCores = 4096;
constexpr double kWidth = 1200, kMargin = 40, kHead = 92;
constexpr double kLeastWidth = 840;  // of the words at the top
constexpr std::string_view kFaulty = "#222222";
constexpr double kLeastPitch = 12, kMostPitch = 90;

/// The area and a core more on each side where one of these faults lies there.
CoreArea area_with(const CoreArea& area, std::span<const CoreArea> faults, const Traffic& traffic) {
  const Index row = std::max<Index>(area.row - 1, 0), column = std::max<Index>(area.column - 1, 0);
  const CoreArea wider{row, column, std::min(area.row + area.rows + 1, traffic.rows()) - row,
                       std::min(area.column + area.columns + 1, traffic.columns()) - column};
  const bool any = std::any_of(faults.begin(), faults.end(), [&](const CoreArea& fault) {
    const Core first{std::max(fault.row, row), std::max(fault.column, column)};
    return fault.contains(first) && wider.contains(first);
  });
  return any ? wider : area;
}

std::string whole(double value) { return std::to_string(std::llround(value)); }

class CollectivePicture {
 public:
  CollectivePicture(const Collective& collective, const Simulation& simulation,
                    std::span<const CoreArea> faults)
      : collective_(collective),
        simulation_(simulation),
        faults_(faults),
        area_(collective.request.area),
        shown_(area_with(area_, faults, collective.traffic)),
        pitch_(std::clamp((kWidth - 2 * kMargin) / static_cast<double>(std::max(shown_.columns, shown_.rows)),
                          kLeastPitch, kMostPitch)),
        arches_(line() ? pitch_ * (0.5 + kArch * static_cast<double>(longest_way())) : 0),
        svg_(
            std::max(kLeastWidth, 2 * kMargin + pitch_ * static_cast<double>(shown_.columns) +
                                      (area_.columns == 1 ? arches_ : 0)),
            kHead + kMargin + pitch_ * static_cast<double>(shown_.rows) + (area_.columns > 1 ? arches_ : 0)) {
    for (Index row = area_.row; row < area_.row + area_.rows; ++row) {
      for (Index column = area_.column; column < area_.column + area_.columns; ++column) {
        const CoreId id = collective.traffic.id({row, column});
        most_received_ = std::max(most_received_, simulation.cores[id].receiving);
        for (std::size_t way = 0; way < 4; ++way)
          most_carried_ = std::max(most_carried_, simulation.links[id * std::size_t{4} + way].wavelets);
      }
    }
  }

  std::string draw() {
    title();
    legend();
    for (Index row = area_.row; row < area_.row + area_.rows; ++row) {
      for (Index column = area_.column; column < area_.column + area_.columns; ++column) {
        for (const Direction way : {Direction::east, Direction::west, Direction::south, Direction::north})
          link({row, column}, way);
      }
    }
    for (Index row = shown_.row; row < shown_.row + shown_.rows; ++row) {
      for (Index column = shown_.column; column < shown_.column + shown_.columns; ++column)
        core({row, column});
    }
    if (line()) {
      for (MessageId id = 0; id < collective_.traffic.size(); ++id) arch(id);
    }
    return svg_.document();
  }

 private:
  static constexpr double kArch = 0.25;  // height of an arch to its width

  bool line() const { return area_.rows == 1 || area_.columns == 1; }

  /// A line's messages arch beside it.
  Index longest_way() const {
    const Traffic& traffic = collective_.traffic;
    Index longest = 0;
    for (MessageId id = 0; id < traffic.size(); ++id) {
      const Core from = traffic.place(traffic.message(id).from);
      for (const Delivery& delivery : traffic.deliveries(id)) {
        const Core to = traffic.place(delivery.core);
        longest = std::max(longest, std::abs(to.row - from.row) + std::abs(to.column - from.column));
      }
    }
    return longest;
  }

  double x(double column) const {
    return kMargin + pitch_ * (column - static_cast<double>(shown_.column) + 0.5) +
           (area_.columns == 1 ? arches_ : 0);
  }
  double y(double row) const {
    return kHead + pitch_ * (row - static_cast<double>(shown_.row) + 0.5) + (area_.columns > 1 ? arches_ : 0);
  }
  Svg::Point centre(Core core) const {
    return {x(static_cast<double>(core.column)), y(static_cast<double>(core.row))};
  }

  void title() {
    const CollectiveRequest& request = collective_.request;
    svg_.text(kMargin, 26,
              std::string(name_of(request.kind)) + " of " + std::to_string(request.wavelets) +
                  " wavelets on " + text_of(area_) + " by " + text_of(collective_.method, area_),
              {.size = 16});
    svg_.text(kMargin, 48,
              "modelled: " + whole(simulation_.cycles) + " cycles, " +
                  std::to_string(collective_.traffic.size()) + " messages, busiest link " +
                  std::to_string(most_carried_) + " wavelets, heads waited " + whole(simulation_.waited) +
                  " cycles at links",
              {.size = 12});
  }

  void legend() {
    constexpr double kBase = 72, kStep = 250;
    double x = draw_loads(svg_, kMargin, kBase - 10);
    svg_.text(x, kBase, "receives 0 to " + whole(most_received_) + " cycles", {.size = 11});
    x = kMargin + kStep;
    for (const double share : {0.0, 0.5, 1.0}) {
      const std::string colour = link_colour(share);
      const double y = kBase - 10 + 9 * share;
      svg_.line(x, y, x + 24, y, {.stroke = colour, .width = 1 + 2 * share});
    }
    svg_.text(x + 30, kBase, "link, each way on its right: to " + std::to_string(most_carried_) + " wavelets",
              {.size = 11});
    x += kStep + 40;
    if (line()) {
      svg_.polyline({{x, kBase}, {x + 6, kBase - 8}, {x + 14, kBase - 8}, {x + 20, kBase}},
                    {.stroke = kind_colour(0), .width = 1.5});
      svg_.text(x + 26, kBase, "message, coloured by step", {.size = 11});
      x += 200;
    }
    if (faults_.empty()) return;
    svg_.rectangle(x, kBase - 10, 12, 12, {.fill = kFaulty});
    svg_.text(x + 18, kBase, "faulty", {.size = 11});
  }

  static std::string link_colour(double share) {
    return share > 0 ? load_colour(0.25 + 0.75 * share) : "#dddddd";
  }

  void link(Core from, Direction way) {
    const Core to{from.row + (way == Direction::south) - (way == Direction::north),
                  from.column + (way == Direction::east) - (way == Direction::west)};
    if (!area_.contains(to)) return;
    const LinkLoad& load = simulation_.link(collective_.traffic.id(from), way);
    const Svg::Point a = centre(from), b = centre(to);
    // Each way keeps to its right.
    const double aside = pitch_ * 0.09, along = 1 / pitch_;
    const double dx = -(b.y - a.y) * along * aside, dy = (b.x - a.x) * along * aside;
    const double share =
        most_carried_ > 0 ? static_cast<double>(load.wavelets) / static_cast<double>(most_carried_) : 0;
    const std::string colour = link_colour(share);
    svg_.line(a.x + dx, a.y + dy, b.x + dx, b.y + dy, {.stroke = colour, .width = 1 + share * pitch_ * 0.08},
              text_of(from) + " to " + text_of(to) + ": " + std::to_string(load.wavelets) + " wavelets in " +
                  std::to_string(load.messages) + " messages, busy " + whole(load.busy) +
                  " cycles, waited for " + whole(load.waited));
  }

  bool is_faulty(Core core) const {
    return std::any_of(faults_.begin(), faults_.end(), [&](const CoreArea& a) { return a.contains(core); });
  }

  void core(Core core) {
    const Svg::Point at = centre(core);
    const double side = pitch_ * 0.45;
    const auto box = [&](std::string_view fill, const std::string& hint) {
      svg_.rectangle(at.x - side / 2, at.y - side / 2, side, side,
                     {.fill = fill, .stroke = "#444444", .width = 1}, hint);
    };
    if (is_faulty(core)) {
      box(kFaulty, "core " + text_of(core) + ": faulty");
    } else if (area_.contains(core)) {
      const CoreLoad& load = simulation_.cores[collective_.traffic.id(core)];
      box(load_colour(most_received_ > 0 ? load.receiving / most_received_ : 0),
          "core " + text_of(core) + ": sends " + whole(load.sending) + ", receives " + whole(load.receiving) +
              ", computes " + whole(load.computing) + " cycles");
    }
  }

  /// From the sender to each receiver, over the cores between.
  void arch(MessageId id) {
    const Traffic& traffic = collective_.traffic;
    const Message& message = traffic.message(id);
    const Svg::Point a = centre(traffic.place(message.from));
    for (const Delivery& delivery : traffic.deliveries(id)) {
      const Svg::Point b = centre(traffic.place(delivery.core));
      const double length = std::abs(b.x - a.x) + std::abs(b.y - a.y);
      std::vector<Svg::Point> points;
      constexpr int kPieces = 16;
      for (int i = 0; i <= kPieces; ++i) {
        const double t = static_cast<double>(i) / kPieces;
        const double out = pitch_ * 0.25 + 4 * kArch * length * t * (1 - t);
        const double px = a.x + (b.x - a.x) * t, py = a.y + (b.y - a.y) * t;
        points.push_back(area_.columns > 1 ? Svg::Point{px, py - out} : Svg::Point{px - out, py});
      }
      svg_.polyline(points, {.stroke = kind_colour(message.step), .width = 1.5, .opacity = 0.8},
                    traffic.text_of_message(id) + " to " + text_of(traffic.place(delivery.core)) + ": " +
                        std::to_string(message.count) + " wavelets, there after " +
                        whole(simulation_.finished[id]) + " cycles");
    }
  }

  const Collective& collective_;
  const Simulation& simulation_;
  const std::span<const CoreArea> faults_;
  const CoreArea& area_;
  const CoreArea shown_;
  double pitch_, arches_;
  Svg svg_;
  double most_received_ = 0;
  Index most_carried_ = 0;
};

}  // namespace

std::string collective_svg(const Collective& collective, const Simulation& simulation,
                           std::span<const CoreArea> faults) {
  const CoreArea& area = collective.request.area;
  if (area.rows > kMostCores || area.columns > kMostCores || area.cores() > kMostCores)
    throw UserError("picture: expected at most 4096 cores, got " + text_of(area));
  const Traffic& traffic = collective.traffic;
  const bool inside = area.rows >= 1 && area.columns >= 1 && area.row >= 0 && area.column >= 0 &&
                      area.row <= traffic.rows() - area.rows &&
                      area.column <= traffic.columns() - area.columns;
  if (!inside) throw UserError("picture: expected an area on the traffic's mesh, got " + text_of(area));
  const auto cores = static_cast<std::size_t>(traffic.rows() * traffic.columns());
  if (simulation.cores.size() != cores || simulation.links.size() != 4 * cores ||
      simulation.finished.size() != traffic.size())
    throw UserError("picture: expected the simulation of this collective");
  return CollectivePicture(collective, simulation, faults).draw();
}

}  // namespace wafer::inline v0
