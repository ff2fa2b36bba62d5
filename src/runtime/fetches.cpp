// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_state.hpp"

#include <algorithm>
#include <cstring>

namespace wafer::inline v0 {

namespace {

// Moves the elements of a box, in row-major order, to the front of its memory. Each moves down or stays, so
// that none is overwritten before it has moved.
void make_dense(const Box& box, const StridedBox& memory, Index size) {
  if (box.rank == 0 || box.empty()) return;
  const auto last = static_cast<std::size_t>(box.rank - 1);
  const Index run = box.range[last].size() * size;
  std::array<Index, kMaxRank> outer{};
  for (std::size_t d = 0; d < last; ++d) outer[d] = box.range[d].size();
  std::byte* to = memory.data;
  for_each_index(box.rank - 1, outer, [&](const std::array<Index, kMaxRank>& index) {
    Index offset = 0;
    for (std::size_t d = 0; d < last; ++d) offset += index[d] * memory.stride[d];
    std::memmove(to, memory.data + offset * size, static_cast<std::size_t>(run));
    to += run;
  });
}

}  // namespace

// Planned memory is laid out for the greatest extents; a shorter inner dimension leaves gaps.
void SessionState::settle_fetches(std::size_t program) {
  const std::vector<FetchRecord>& fetches = data->programs[program].fetches;
  for (std::size_t f = 0; f < fetches.size(); ++f) {
    const std::uint32_t buffer = fetches[f].buffer;
    const bool settled = std::any_of(fetches.begin(), fetches.begin() + static_cast<std::ptrdiff_t>(f),
                                     [&](const FetchRecord& earlier) { return earlier.buffer == buffer; });
    if (settled) continue;
    const BufferView view(*data, buffer, Grid{data->parts, 1}, Place{}, run.axes);
    const StridedBox memory = view.at(view.held(), run.dram.data());
    Index dense = 1;
    bool gaps = false;
    for (int d = view.held().rank - 1; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      gaps = gaps || memory.stride[i] != dense;
      dense *= view.held().range[i].size();
    }
    if (gaps) make_dense(view.held(), memory, view.element_size());
  }
}

}  // namespace wafer::inline v0
