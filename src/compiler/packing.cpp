// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kQuadraticItems = 3000;

// The tightest gap among the items that were placed and live at the same time.
Index tightest_gap(const std::vector<const PackItem*>& placed, const PackItem& item) {
  Index end = 0, best = -1, best_size = 0;
  for (const PackItem* other : placed) {  // by offset
    if (other->last < item.first || other->first > item.last) continue;
    const Index gap = other->offset - end;
    if (gap >= item.bytes && (best < 0 || gap < best_size)) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best < 0 ? end : best;
}

Index pack_by_size(std::vector<PackItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].bytes > items[b].bytes; });
  std::vector<const PackItem*> placed;
  Index height = 0;
  for (std::size_t i : order) {
    items[i].offset = tightest_gap(placed, items[i]);
    height = std::max(height, items[i].offset + items[i].bytes);
    const auto at =
        std::lower_bound(placed.begin(), placed.end(), &items[i],
                         [](const PackItem* a, const PackItem* b) { return a->offset < b->offset; });
    placed.insert(at, &items[i]);
  }
  return height;
}

// Free memory by offset and by size, as an allocator would keep it.
class FreeList {
 public:
  Index take(Index bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      Index offset = height_;
      if (!by_offset_.empty() && by_offset_.rbegin()->first + by_offset_.rbegin()->second == height_) {
        offset = by_offset_.rbegin()->first;  // grow the free end
        erase(offset);
      }
      height_ = offset + bytes;
      return offset;
    }
    const Index offset = fit->first.second, size = fit->first.first;
    erase(offset);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give(Index offset, Index bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      erase(next->first);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        bytes += previous->second;
        erase(offset);
      }
    }
    insert(offset, bytes);
  }

  Index height() const { return height_; }

 private:
  void insert(Index offset, Index bytes) {
    by_offset_[offset] = bytes;
    by_size_[{bytes, offset}] = true;
  }
  void erase(Index offset) {
    by_size_.erase({by_offset_.at(offset), offset});
    by_offset_.erase(offset);
  }
  std::map<Index, Index> by_offset_;
  std::map<std::pair<Index, Index>, bool> by_size_;
  Index height_ = 0;
};

Index pack_by_time(std::vector<PackItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].first < items[b].first; });
  using Death = std::pair<std::int32_t, std::size_t>;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> living;
  FreeList memory;
  for (std::size_t i : order) {
    while (!living.empty() && living.top().first < items[i].first) {
      const PackItem& dead = items[living.top().second];
      memory.give(dead.offset, dead.bytes);
      living.pop();
    }
    items[i].offset = memory.take(items[i].bytes);
    living.emplace(items[i].last, i);
  }
  return memory.height();
}

}  // namespace

Index pack(std::vector<PackItem>& items) {
  // Empty items live nowhere.
  std::vector<std::size_t> kept;
  std::vector<PackItem> solid;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].bytes == 0) continue;
    kept.push_back(i);
    solid.push_back(items[i]);
  }
  const Index height = solid.size() <= kQuadraticItems ? pack_by_size(solid) : pack_by_time(solid);
  for (std::size_t k = 0; k < kept.size(); ++k) items[kept[k]].offset = solid[k].offset;
  return height;
}

}  // namespace wafer::inline v0
