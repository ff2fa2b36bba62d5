// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/boxes.hpp"

#include <algorithm>
#include <cstring>

namespace wafer::inline v0 {

Box intersection(const Box& a, const Box& b) {
  Box out;
  out.rank = a.rank;
  for (int d = 0; d < a.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    out.range[i] = {std::max(a.range[i].begin, b.range[i].begin), std::min(a.range[i].end, b.range[i].end)};
  }
  return out;
}

namespace {

// The dimension of a box that one of two memories holds in several panels; -1: there is none.
int panelled_dim(const Box& box, const StridedBox& from, const StridedBox& to) {
  for (int d = 0; d < box.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (box.range[i].size() > kPanel && !(from.stride[i].plain() && to.stride[i].plain())) return d;
  }
  return -1;
}

// Single elements of four bytes, which are most: a call for each would take several times as long.
void copy_strided(Index count, const std::byte* from, Index from_step, std::byte* to, Index to_step) {
  for (Index i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, 4);
}

Index copy_panels(int dim, const Box& box, Index size, const StridedBox& from, const StridedBox& to) {
  const auto d = static_cast<std::size_t>(dim);
  Index copied = 0;
  for (Index at = 0; at < box.range[d].size(); at += kPanel) {
    Box part = box;
    part.range[d] = {box.range[d].begin + at, std::min(box.range[d].begin + at + kPanel, box.range[d].end)};
    StridedBox source = from, target = to;
    source.data += from.stride[d].at(at) * size;
    target.data += to.stride[d].at(at) * size;
    copied += copy_box(part, size, source, target);
  }
  return copied;
}

}  // namespace

Index copy_box(const Box& box, Index size, const StridedBox& from, const StridedBox& to) {
  if (box.empty()) return 0;
  const int panelled = panelled_dim(box, from, to);
  if (panelled >= 0) return copy_panels(panelled, box, size, from, to);
  // The innermost dimensions that are dense on both sides are copied in one run.
  Index run = size;
  int outer = box.rank;
  while (outer > 0) {
    const auto i = static_cast<std::size_t>(outer - 1);
    const bool dense = from.stride[i].next * size == run && to.stride[i].next * size == run;
    if (!dense && box.range[i].size() != 1) break;
    run *= box.range[i].size();
    --outer;
  }
  // A last dimension of single elements is a loop of its own.
  Index singles = 1, from_step = 0, to_step = 0;
  if (run == 4 && outer > 0) {
    const auto i = static_cast<std::size_t>(--outer);
    singles = box.range[i].size();
    from_step = from.stride[i].next * size;
    to_step = to.stride[i].next * size;
  }
  std::array<Index, kMaxRank> index{};
  const std::byte* source = from.data;
  std::byte* target = to.data;
  Index copied = 0;
  for (;;) {
    if (singles > 1) {
      copy_strided(singles, source, from_step, target, to_step);
    } else {
      std::memcpy(target, source, static_cast<std::size_t>(run));
    }
    copied += singles * run;
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      source += from.stride[i].next * size;
      target += to.stride[i].next * size;
      if (++index[i] < box.range[i].size()) break;
      source -= from.stride[i].next * size * index[i];
      target -= to.stride[i].next * size * index[i];
      index[i] = 0;
    }
    if (d < 0) return copied;
  }
}

BufferView::BufferView(const ExecutableData& data, std::uint32_t buffer, const Grid& grid, const Place& place,
                       std::span<const Index> axes) {
  const BufferRecord& record = data.buffers[buffer];
  held_.rank = record.rank;
  offset_ = record.offset;
  size_ = size_of(record.dtype);
  for (int d = 0; d < record.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const BufferDim& dim = data.dims[record.first_dim + i];
    held_.range[i] = range_of(dim.division, grid, place, axes);
    stride_[i] = dim.stride;
  }
}

StridedBox BufferView::at(const Box& box, std::byte* arena) const {
  StridedBox out;
  out.stride = stride_;
  Index offset = 0;
  for (int d = 0; d < box.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    offset += stride_[i].at(box.range[i].begin - held_.range[i].begin);
  }
  out.data = arena + offset_ + (box.empty() ? 0 : offset * size_);
  return out;
}

}  // namespace wafer::inline v0
