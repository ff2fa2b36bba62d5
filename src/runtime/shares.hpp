// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace wafer::inline v0 {

/// Which worker takes which tile of an action, where any order will do. Each worker has a share of the tiles,
/// the same part of every action, so that it mostly finds in its own caches what an action before has left
/// there: weights between forward and update, say. A worker that is through with its share helps the next
/// one.
class Shares {
 public:
  Shares(std::size_t actions, int threads)
      : workers_(static_cast<std::uint32_t>(threads)),
        taken_(std::make_unique<Counter[]>(actions * workers_)) {}

  /// No tile of these actions is taken any more. Not while workers run.
  void reset(std::size_t first, std::size_t actions) {
    for (std::size_t i = first * workers_; i < (first + actions) * workers_; ++i)
      taken_[i].tiles.store(0, std::memory_order_relaxed);
  }

  /// A tile of the action that nobody has taken. Called once for each of the tiles.
  std::uint32_t take(std::size_t action, std::uint32_t tiles, std::uint32_t worker) {
    for (std::uint32_t of = worker;; of = (of + 1) % workers_) {
      const std::uint32_t begin = share_begin(tiles, of), size = share_begin(tiles, of + 1) - begin;
      std::atomic<std::uint32_t>& taken = taken_[action * workers_ + of].tiles;
      if (taken.load(std::memory_order_relaxed) >= size) continue;
      const std::uint32_t tile = taken.fetch_add(1, std::memory_order_relaxed);
      if (tile < size) return begin + tile;
    }
  }

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint32_t> tiles{0};
  };

  std::uint32_t share_begin(std::uint32_t tiles, std::uint32_t worker) const {
    return static_cast<std::uint32_t>(std::uint64_t{tiles} * worker / workers_);
  }

  std::uint32_t workers_;
  std::unique_ptr<Counter[]> taken_;
};

}  // namespace wafer::inline v0
