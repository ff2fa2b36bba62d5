// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_curve.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace wafer::inline v0 {

namespace {

using Side = std::vector<std::int16_t>;

constexpr auto kMost = ShapeCurve::kTooLong;

using Block = std::array<std::int16_t, ShapeCurve::kBlock>;

// Sixteen numbers at a time through blocks of their own, so that compilers make vectors of them at any level
// of optimisation.
template <class F>
void for_blocks(Side& to, const Side& a, const Side& b, F f) {
  for (std::size_t i = 0; i < to.size(); i += ShapeCurve::kBlock) {
    Block x, y, z;
    std::memcpy(x.data(), a.data() + i, sizeof(Block));
    std::memcpy(y.data(), b.data() + i, sizeof(Block));
    std::memcpy(z.data(), to.data() + i, sizeof(Block));
    for (std::size_t k = 0; k < ShapeCurve::kBlock; ++k) {
      const auto sum = static_cast<std::int16_t>(x[k] + y[k]);
      const std::int16_t most = f(z[k]);
      z[k] = sum < most ? sum : most;
    }
    std::memcpy(to.data() + i, z.data(), sizeof(Block));
  }
}

void set_sum(Side& to, const Side& a, const Side& b) {
  for_blocks(to, a, b, [](std::int16_t) { return kMost; });
}

// From the least width at each height to the least height at each width, or the other way round.
void set_inverse(Side& to, const Side& from) {
  auto end = to.size();  // widths from here on have their height
  for (std::size_t high = 0; high < from.size() && end > 0; ++high) {
    const auto width = static_cast<std::size_t>(from[high]);
    if (width >= end) continue;
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(width), to.begin() + static_cast<std::ptrdiff_t>(end),
              static_cast<std::int16_t>(high));
    end = width;
  }
  std::fill(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(end), kMost);
}

void make_falling(Side& side) {
  for (std::size_t i = 1; i < side.size(); ++i) side[i] = std::min(side[i], side[i - 1]);
}

}  // namespace

void lower_to_sum(Side& least, const Side& a, const Side& b) {
  for_blocks(least, a, b, [](std::int16_t old) { return old; });
}

void ShapeCurve::set_beside(const ShapeCurve& a, const ShapeCurve& b) {
  set_sum(width_at, a.width_at, b.width_at);
  set_inverse(height_at, width_at);
}

void ShapeCurve::set_above(const ShapeCurve& a, const ShapeCurve& b) {
  set_sum(height_at, a.height_at, b.height_at);
  set_inverse(width_at, height_at);
}

void ShapeCurve::add_both(const ShapeCurve& a, const ShapeCurve& b) {
  lower_to_sum(width_at, a.width_at, b.width_at);
  lower_to_sum(height_at, a.height_at, b.height_at);
}

void ShapeCurve::agree() {
  make_falling(width_at);
  make_falling(height_at);
  Side other(width_at.size());
  set_inverse(other, height_at);
  for (std::size_t i = 0; i < other.size(); ++i) width_at[i] = std::min(width_at[i], other[i]);
  set_inverse(other, width_at);
  for (std::size_t i = 0; i < other.size(); ++i) height_at[i] = std::min(height_at[i], other[i]);
}

std::vector<FloorOption> floor_options(const FloorKernel& kernel, const FloorRequest& request) {
  std::vector<FloorOption> options;
  for (std::size_t s = 0; s < kernel.shapes.size(); ++s) {
    const KernelShape& shape = kernel.shapes[s];
    if (shape.time > request.most_time) continue;
    if (request.memory_limit > 0 && shape.memory > request.memory_limit) continue;
    FloorOption option{shape.height, shape.width, shape.time, static_cast<std::int32_t>(s), false};
    for (const bool turned : {false, true}) {
      option.turned = turned;
      if (turned) std::swap(option.height, option.width);
      if (turned && (!kernel.may_turn || option.height == option.width)) continue;
      if (option.height <= request.rows && option.width <= request.columns) options.push_back(option);
    }
  }
  std::sort(options.begin(), options.end(), [](const FloorOption& a, const FloorOption& b) {
    if (a.height != b.height) return a.height < b.height;
    if (a.width != b.width) return a.width < b.width;
    if (a.time != b.time) return a.time < b.time;
    return a.shape != b.shape ? a.shape < b.shape : a.turned < b.turned;
  });
  return options;
}

std::vector<FloorOption> floor_front(std::span<const FloorOption> options, double time) {
  std::vector<FloorOption> front;
  for (const FloorOption& option : options) {
    if (option.time <= time && (front.empty() || option.width < front.back().width)) front.push_back(option);
  }
  return front;
}

ShapeCurve curve_of(std::span<const FloorOption> front, Index extent) {
  ShapeCurve curve(extent);
  for (const FloorOption& option : front)
    curve.width_at[static_cast<std::size_t>(option.height)] = static_cast<std::int16_t>(option.width);
  make_falling(curve.width_at);
  set_inverse(curve.height_at, curve.width_at);
  return curve;
}

}  // namespace wafer::inline v0
