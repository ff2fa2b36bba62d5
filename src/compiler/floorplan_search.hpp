// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/floorplan_tree.hpp"

#include <cstdint>
#include <vector>

namespace wafer::inline v0 {

/// The same numbers on every machine (Steele, Lea and Flood, "SplitMix", OOPSLA 2014).
class FloorRandom {
 public:
  explicit FloorRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }
  std::int32_t below(std::size_t limit) {
    return static_cast<std::int32_t>(((next() >> 32) * static_cast<std::uint64_t>(limit)) >> 32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

using FloorOptions = std::vector<std::vector<FloorOption>>;  // of each kernel

/// Figures of placed kernels.
FloorPlan floor_plan_of(const FloorRequest& request, std::vector<FloorPlan::Kernel> kernels);

/// Rectangles without faulty cores that share none, the largest first taken, in order of rows.
std::vector<FloorRectangle> free_regions(const FloorRequest& request);

/// An order in which connected kernels are close to each other.
std::vector<std::int32_t> floor_order(const FloorRequest& request);

/// Mirrors groups as long as this shortens connections. Needs outlines. Takes what it costs off `effort`.
void straighten(const FloorRequest& request, SlicingForest& forest, Index& effort);

/// Changes trees at random, less and less for the worse, to shorten connections. `forest`, which has outlines
/// and fits, becomes the best one that fits; its outlines are to be made anew.
void anneal_length(const FloorRequest& request, SlicingForest& forest, Index effort);

/// Moves kernels into free cores, and takes other shapes there, as long as the score falls.
void settle(const FloorRequest& request, const FloorShapes& shapes, Index effort, FloorPlan& best);

/// Tries all places and shapes, for a lower score than that of `best`; whether it came to an end before it
/// had tried `most` places.
bool try_all(const FloorRequest& request, const FloorOptions& options, Index most, FloorPlan& best);

/// Whether a kernel may lie there: on working cores, clear of these kernels but `except`.
bool is_free(const FloorRequest& request, std::span<const FloorPlan::Kernel> kernels, std::int32_t except,
             const FloorRectangle& place);

}  // namespace wafer::inline v0
