// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/packer_part.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace wafer::inline v0 {

// A sweep over time that keeps what is alive by offset, so that only neighbours need a look.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const PackBuffer> buffers,
                                                                std::span<const Index> offsets,
                                                                std::span<const std::size_t> which) {
  struct Event {
    Index time;
    bool begins;
    std::size_t buffer;
  };
  std::vector<Event> events;
  for (std::size_t b : which) {
    if (buffers[b].begin == buffers[b].end || buffers[b].size + buffers[b].padding == 0) continue;
    events.push_back({buffers[b].begin, true, b});
    events.push_back({buffers[b].end, false, b});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.begins != b.begins ? b.begins : a.buffer < b.buffer;
  });
  std::map<Index, std::size_t> alive;
  const auto top = [&](std::size_t b) { return offsets[b] + buffers[b].size + buffers[b].padding; };
  for (const Event& event : events) {
    if (!event.begins) {
      alive.erase(offsets[event.buffer]);
      continue;
    }
    const auto above = alive.lower_bound(offsets[event.buffer]);
    if (above != alive.end() && above->first < top(event.buffer)) {
      return std::pair{above->second, event.buffer};
    }
    if (above != alive.begin() && top(std::prev(above)->second) > offsets[event.buffer]) {
      return std::pair{std::prev(above)->second, event.buffer};
    }
    alive.emplace_hint(above, offsets[event.buffer], event.buffer);
  }
  return std::nullopt;
}

namespace {

Index greatest_live(std::span<const PackBuffer> buffers) {
  std::map<Index, Index> change;
  for (const PackBuffer& b : buffers) {
    if (b.begin == b.end) continue;
    change[b.begin] += b.size + b.padding;
    change[b.end] -= b.size + b.padding;
  }
  Index live = 0, greatest = 0;
  for (const auto& [time, delta] : change) greatest = std::max(greatest, live += delta);
  return greatest;
}

[[noreturn]] void wrong(const std::string& what) { throw InternalError("packing: " + what); }

}  // namespace

void Packing::verify(std::span<const PackBuffer> buffers) const {
  check_buffers(buffers);
  if (offsets.size() != buffers.size()) {
    wrong("expected " + std::to_string(buffers.size()) + " offsets, got " + std::to_string(offsets.size()));
  }
  Index top = 0;
  std::vector<std::size_t> all;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const PackBuffer& buffer = buffers[b];
    const std::string name = "buffer " + std::to_string(b);
    if (offsets[b] < 0 || offsets[b] % buffer.alignment != 0) {
      wrong(name + " lies at " + std::to_string(offsets[b]) + ", expected a multiple of " +
            std::to_string(buffer.alignment));
    }
    if (buffer.offset && *buffer.offset != offsets[b]) {
      wrong(name + " lies at " + std::to_string(offsets[b]) + ", expected " + std::to_string(*buffer.offset));
    }
    if (buffer.begin < buffer.end && buffer.size + buffer.padding > 0) {
      if (offsets[b] > std::numeric_limits<Index>::max() - buffer.size - buffer.padding)
        wrong(name + " lies at " + std::to_string(offsets[b]) + " and ends beyond 2^63");
      top = std::max(top, offsets[b] + buffer.size + buffer.padding);
    }
    all.push_back(b);
  }
  if (top != height) wrong("height " + std::to_string(height) + ", expected " + std::to_string(top));
  const Index live = greatest_live(buffers);
  if (live != max_live) {
    wrong("max-live bound " + std::to_string(max_live) + ", expected " + std::to_string(live));
  }
  if (height == max_live && !optimal) wrong("reaches the bound and is not called optimal");
  if (const auto pair = find_overlap(buffers, offsets, all)) {
    wrong("buffers " + std::to_string(pair->first) + " and " + std::to_string(pair->second) +
          " live at one time and share bytes");
  }
}

}  // namespace wafer::inline v0
