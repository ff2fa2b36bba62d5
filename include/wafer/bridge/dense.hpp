// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/error.hpp>
#include <wafer/runtime/session.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// What the bridges to array libraries share: hosts include eigen.hpp or xtensor.hpp.
namespace wafer::inline v0::bridge {

/// "parameter 'fc1.weight': expected [8, 5], got [5, 8]", as a RunError.
[[noreturn]] inline void fail(std::string_view kind, std::string_view name, const std::string& expected,
                              const std::string& got) {
  throw RunError(std::string(kind) + " '" + std::string(name) + "': expected " + expected + ", got " + got);
}

/// The feed itself, which has a shape, where its elements lie row-major and without gaps; `strides`, one for
/// each dimension, count elements. Throws RunError otherwise.
template <class Strides>
Feed dense(const Feed& feed, const Strides& strides) {
  const Shape& shape = *feed.shape;
  if (shape.size() == 0) return feed;
  Index stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const auto got = static_cast<Index>(strides[static_cast<std::size_t>(d)]);
    if (shape[d] > 1 && got != stride) {
      // A handle knows no name.
      fail("input", feed.name.empty() ? "#" + std::to_string(feed.handle.index) : std::string(feed.name),
           shape.text() + " row-major without gaps, with a stride of " + std::to_string(stride) +
               " in dimension " + std::to_string(d),
           std::to_string(got));
    }
    stride *= shape[d];
  }
  return feed;
}

}  // namespace wafer::inline v0::bridge
