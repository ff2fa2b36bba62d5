// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/packer_part.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace wafer::inline v0 {

namespace {

double value_of(const PackPart::Item& item, Index crowd, PackKey key) {
  switch (key) {
    case PackKey::none: return 0;
    case PackKey::size: return static_cast<double>(item.size);
    case PackKey::length: return item.length;
    case PackKey::area: return item.length * static_cast<double>(item.size);
    case PackKey::crowd: return static_cast<double>(crowd);
    case PackKey::early: return -item.begin;
    case PackKey::late: return item.end;
  }
  return 0;
}

// The greatest of a range of values: level k holds the greatest of each 2^k neighbours.
class RangeMax {
 public:
  explicit RangeMax(const std::vector<Index>& values) : levels_{values} {
    for (std::size_t width = 1; 2 * width <= values.size(); width *= 2) {
      const std::vector<Index>& below = levels_.back();
      std::vector<Index> level(values.size() - 2 * width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::max(below[i], below[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  Index over(std::int32_t begin, std::int32_t end) const {
    const auto level = std::bit_width(static_cast<std::uint32_t>(end - begin)) - 1;
    const std::vector<Index>& values = levels_[static_cast<std::size_t>(level)];
    return std::max(values[static_cast<std::size_t>(begin)],
                    values[static_cast<std::size_t>(end - (1 << level))]);
  }

 private:
  std::vector<std::vector<Index>> levels_;
};

// The tops of what was placed, by section. A new top is never beneath an old one of its sections.
class Skyline {
 public:
  explicit Skyline(std::int32_t sections) {
    while (leaves_ < sections) leaves_ *= 2;
    raised_.resize(static_cast<std::size_t>(2 * leaves_));
    top_.resize(raised_.size());
  }
  Index over(std::int32_t begin, std::int32_t end) const { return over(1, 0, leaves_, begin, end); }
  void raise(std::int32_t begin, std::int32_t end, Index top) { raise(1, 0, leaves_, begin, end, top); }

 private:
  Index over(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin,
             std::int32_t end) const {
    if (end <= low || high <= begin) return 0;
    if (begin <= low && high <= end) return top_[node];
    const std::int32_t middle = (low + high) / 2;
    return std::max({raised_[node], over(2 * node, low, middle, begin, end),
                     over(2 * node + 1, middle, high, begin, end)});
  }
  void raise(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin, std::int32_t end,
             Index top) {
    if (end <= low || high <= begin) return;
    top_[node] = std::max(top_[node], top);
    if (begin <= low && high <= end) {
      raised_[node] = std::max(raised_[node], top);
      return;
    }
    const std::int32_t middle = (low + high) / 2;
    raise(2 * node, low, middle, begin, end, top);
    raise(2 * node + 1, middle, high, begin, end, top);
  }

  std::int32_t leaves_ = 1;
  std::vector<Index> raised_;  // of all sections beneath a node at once
  std::vector<Index> top_;     // the greatest beneath a node
};

// Free memory by offset and by size, as an allocator would keep it.
class FreeList {
 public:
  Index take(Index size, Index alignment) {
    for (auto fit = by_size_.lower_bound({size, 0}); fit != by_size_.end(); ++fit) {
      const auto [hole, begin] = *fit;
      const Index offset = aligned(begin, alignment);
      if (offset + size > begin + hole) continue;
      erase(begin);
      if (offset > begin) insert(begin, offset - begin);
      if (offset + size < begin + hole) insert(offset + size, begin + hole - offset - size);
      return offset;
    }
    Index begin = height_;
    if (!by_offset_.empty() &&
        std::prev(by_offset_.end())->first + std::prev(by_offset_.end())->second == height_) {
      begin = std::prev(by_offset_.end())->first;  // grow the free end
      erase(begin);
    }
    const Index offset = aligned(begin, alignment);
    if (offset > begin) insert(begin, offset - begin);
    height_ = offset + size;
    return offset;
  }

  void give(Index offset, Index size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      erase(next->first);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [begin, hole] = *std::prev(next);
      if (begin + hole == offset) {
        offset = begin;
        size += hole;
        erase(begin);
      }
    }
    insert(offset, size);
  }

 private:
  void insert(Index offset, Index size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void erase(Index offset) {
    by_size_.erase({by_offset_.at(offset), offset});
    by_offset_.erase(offset);
  }
  std::map<Index, Index> by_offset_;
  std::set<std::pair<Index, Index>> by_size_;
  Index height_ = 0;
};

}  // namespace

void sort_by(const PackRule& rule, const PackPart& part, std::span<const Index> crowd,
             std::vector<std::int32_t>& items) {
  struct Entry {
    std::array<double, 3> keys;
    std::int32_t item;
  };
  std::vector<Entry> entries(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    entries[i].item = items[i];
    for (std::size_t k = 0; k < rule.size(); ++k)
      entries[i].keys[k] = value_of(part.items[static_cast<std::size_t>(items[i])], crowd[i], rule[k]);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.keys != b.keys ? a.keys > b.keys : a.item < b.item;
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = entries[i].item;
}

std::vector<PackOrder> pack_orders(const PackPart& part) {
  const RangeMax live(part.live);
  std::vector<Index> crowd;
  for (const PackPart::Item& item : part.items) crowd.push_back(live.over(item.begin, item.end));
  std::vector<PackOrder> orders;
  for (const PackRule& rule : kPackRules) {
    PackOrder order(part.items.size());
    std::iota(order.begin(), order.end(), 0);
    sort_by(rule, part, crowd, order);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::int32_t i) { return part.items[static_cast<std::size_t>(i)].fixed >= 0; });
    orders.push_back(std::move(order));
  }
  return orders;
}

std::optional<std::vector<Index>> pack_tightest(const PackPart& part, const PackOrder& order, Index limit) {
  struct Placed {
    Index offset, top;
    std::int32_t begin, end;
  };
  std::vector<Placed> placed;  // by offset
  placed.reserve(part.items.size());
  std::vector<Index> offsets(part.items.size());
  for (const std::int32_t i : order) {
    const PackPart::Item& item = part.items[static_cast<std::size_t>(i)];
    Index top = 0, best = -1, best_hole = 0;
    if (item.fixed < 0) {
      for (const Placed& other : placed) {
        if (other.begin >= item.end || other.end <= item.begin) continue;
        const Index hole = other.offset - top;
        if (hole >= item.size && (best < 0 || hole < best_hole) &&
            aligned(top, item.alignment) + item.size <= other.offset) {
          best = top;
          best_hole = hole;
        }
        top = std::max(top, other.top);
      }
    }
    const Index offset = item.fixed >= 0 ? item.fixed : aligned(best < 0 ? top : best, item.alignment);
    if (offset + item.size >= limit) return std::nullopt;
    const auto at = std::lower_bound(placed.begin(), placed.end(), offset,
                                     [](const Placed& p, Index value) { return p.offset < value; });
    placed.insert(at, {offset, offset + item.size, item.begin, item.end});
    offsets[static_cast<std::size_t>(i)] = offset;
  }
  return offsets;
}

std::optional<std::vector<Index>> pack_lowest(const PackPart& part, const PackOrder& order, Index limit,
                                              Index& tries) {
  using Place = std::pair<Index, std::int32_t>;  // offset, rank
  std::vector<Place> start;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(order.size()); ++rank)
    start.emplace_back(0, rank);
  std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting(std::greater<>{}, std::move(start));
  Skyline skyline(part.sections);
  std::vector<Index> offsets(part.items.size());
  while (!waiting.empty()) {
    const auto [stale, rank] = waiting.top();
    const auto i = static_cast<std::size_t>(order[static_cast<std::size_t>(rank)]);
    const PackPart::Item& item = part.items[i];
    const Index offset = aligned(skyline.over(item.begin, item.end), item.alignment);
    waiting.pop();
    if (offset + item.size >= limit) return std::nullopt;
    if (offset > stale) {
      if (--tries < 0) return std::nullopt;
      waiting.emplace(offset, rank);
      continue;
    }
    skyline.raise(item.begin, item.end, offset + item.size);
    offsets[i] = offset;
  }
  return offsets;
}

std::vector<Index> pack_by_time(const PackPart& part) {
  std::vector<std::size_t> order(part.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return part.items[a].begin < part.items[b].begin; });
  using Death = std::pair<std::int32_t, std::size_t>;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> living;
  FreeList memory;
  std::vector<Index> offsets(part.items.size());
  for (std::size_t i : order) {
    while (!living.empty() && living.top().first <= part.items[i].begin) {
      const std::size_t dead = living.top().second;
      memory.give(offsets[dead], part.items[dead].size);
      living.pop();
    }
    offsets[i] = memory.take(part.items[i].size, part.items[i].alignment);
    living.emplace(part.items[i].end, i);
  }
  return offsets;
}

}  // namespace wafer::inline v0
