// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/runtime/executable_data.hpp>

#include <array>
#include <cstddef>

namespace wafer::inline v0 {

/// A range in each dimension.
struct Box {
  int rank = 0;
  std::array<Range, kMaxRank> range{};
  bool empty() const {
    for (int d = 0; d < rank; ++d) {
      if (range[static_cast<std::size_t>(d)].size() <= 0) return true;
    }
    return false;
  }
};

Box intersection(const Box& a, const Box& b);

/// A box of elements in strided memory: `data` is the element at `box.range[d].begin` in each dimension. A
/// dimension in panels begins with one.
struct StridedBox {
  std::byte* data = nullptr;
  std::array<Stride, kMaxRank> stride{};
};

/// Copies a box of elements of `size` bytes; returns the bytes copied.
Index copy_box(const Box& box, Index size, const StridedBox& from, const StridedBox& to);

/// A buffer of an executable, in one arena, as one place of a step sees it.
class BufferView {
 public:
  BufferView(const ExecutableData& data, std::uint32_t buffer, const Grid& grid, const Place& place,
             std::span<const Index> axes);
  /// The part of the whole value that the buffer holds.
  const Box& held() const { return held_; }
  /// Memory of a box within `held`.
  StridedBox at(const Box& box, std::byte* arena) const;
  Index element_size() const { return size_; }

 private:
  Box held_;
  std::array<Stride, kMaxRank> stride_{};
  Index offset_ = 0;
  Index size_ = 0;
};

}  // namespace wafer::inline v0
