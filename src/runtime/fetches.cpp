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
    for (std::size_t d = 0; d < last; ++d) offset += memory.stride[d].at(index[d]);
    std::memmove(to, memory.data + offset * size, static_cast<std::size_t>(run));
    to += run;
  });
}

}  // namespace

bool SessionState::has_gaps(std::uint32_t buffer) const {
  const BufferRecord& record = data->buffers[buffer];
  Index dense = 1;
  for (int d = record.rank - 1; d >= 0; --d) {
    const BufferDim& dim = data->dims[record.first_dim + static_cast<std::size_t>(d)];
    if (dim.stride.next != dense || !dim.stride.plain()) return true;
    dense *= range_of(dim.division, Grid{data->parts, 1}, Place{}, run.axes).size();
  }
  return false;
}

void SessionState::settle_fetches(std::size_t program) {
  const std::vector<FetchRecord>& fetches = data->programs[program].fetches;
  for (std::size_t f = 0; f < fetches.size(); ++f) {
    const std::uint32_t buffer = fetches[f].buffer;
    if (!has_gaps(buffer)) continue;
    const bool settled = std::any_of(fetches.begin(), fetches.begin() + static_cast<std::ptrdiff_t>(f),
                                     [&](const FetchRecord& earlier) { return earlier.buffer == buffer; });
    if (settled) continue;
    const BufferView view(*data, buffer, Grid{data->parts, 1}, Place{}, run.axes);
    make_dense(view.held(), view.at(view.held(), run.dram.data()), view.element_size());
  }
}

}  // namespace wafer::inline v0
