// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstddef>
#include <span>

namespace wafer::inline v0 {

/// Planned memory: one mapping, rounded up to pages. Its end lies against a page that cannot be touched, so
/// that running over it is a fault and not a silent write; the slack is in front.
class Arena {
 public:
  Arena() = default;
  /// Zeroed. Throws RunError where the system has no such memory.
  explicit Arena(Index bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// First planned byte, aligned to 64.
  std::byte* data() const { return data_; }
  /// The whole mapping up to the guard page, slack included.
  std::span<std::byte> mapping() const { return {mapping_, mapping_bytes_}; }

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;  // without the guard page
  std::byte* data_ = nullptr;
};

}  // namespace wafer::inline v0
