// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/packer_search.hpp"

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

constexpr std::size_t kMostItems = 6000;
constexpr Index kMostMembers = 20'000'000, kMostNeighbours = 20'000'000;

std::size_t z(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool PackSearch::suits(const PackPart& part) {
  if (part.items.size() > kMostItems) return false;
  Index members = 0;
  std::vector<Index> count(z(part.sections));
  for (const PackPart::Item& item : part.items) {
    members += item.end - item.begin;
    for (std::int32_t s = item.begin; s < item.end; ++s) ++count[z(s)];
  }
  const Index most = count.empty() ? 0 : *std::max_element(count.begin(), count.end());
  return members <= kMostMembers && most * static_cast<Index>(part.items.size()) <= kMostNeighbours;
}

PackSearch::PackSearch(const PackPart& part) : part_(part) {
  const std::size_t n = part.items.size();
  for (const PackPart::Item& item : part.items) {
    whole_.push_back(aligned(item.size, part.unit));
    slack_ = std::max(slack_, whole_.back() - item.size);
  }
  std::vector<std::vector<Item>> members(z(part.sections));
  for (Item i = 0; i < static_cast<Item>(n); ++i) {
    for (std::int32_t s = at(i).begin; s < at(i).end; ++s) members[z(s)].push_back(i);
  }
  for (const std::vector<Item>& of_section : members) {
    first_member_.push_back(members_.size());
    members_.insert(members_.end(), of_section.begin(), of_section.end());
  }
  first_member_.push_back(members_.size());
  for (Item i = 0; i < static_cast<Item>(n); ++i) {
    first_neighbour_.push_back(neighbours_.size());
    for (Item j = 0; j < static_cast<Item>(n); ++j) {
      if (i != j && at(i).begin < at(j).end && at(j).begin < at(i).end) neighbours_.push_back(j);
    }
  }
  first_neighbour_.push_back(neighbours_.size());
  rank_.resize(n);
  levels_.resize(n + 2);
  offsets_.resize(n);
}

PackAnswer PackSearch::run(const PackRule& rule, Index capacity, Index& steps) {
  const auto n = static_cast<Item>(part_.items.size());
  rule_ = rule;
  capacity_ = capacity;
  steps_ = steps;
  low_.assign(z(n), 0);
  placed_.assign(z(n), 0);
  rest_.assign(z(part_.sections), 0);
  cross_.assign(z(part_.sections), 0);
  floor_.assign(z(part_.sections), 0);
  floor_item_.assign(z(part_.sections), -1);
  levels_[0].waiting.clear();
  for (Item i = 0; i < n; ++i) {
    if (at(i).fixed >= 0) low(i) = at(i).fixed;
    for (std::int32_t s = at(i).begin; s < at(i).end; ++s) rest_[z(s)] += whole_[z(i)];
    for (std::int32_t s = at(i).begin; s + 1 < at(i).end; ++s) ++cross_[z(s)];
    levels_[0].waiting.push_back(i);
  }
  for (std::int32_t s = 0; s < part_.sections; ++s) find_floor(s);
  rank(levels_[0].waiting);
  levels_[0].range = {0, part_.sections};
  levels_[0].last = {};
  const PackAnswer answer = explore();
  steps = std::max(steps_, Index{0});
  return answer;
}

// Depth first, with a stack of its own: a thread's may be small.
PackAnswer PackSearch::explore() {
  std::size_t depth = 0;
  bool entering = true;
  PackAnswer answer = PackAnswer::impossible;  // of the level below, where not entering
  for (;;) {
    Level& level = levels_[depth];
    bool done = false;
    if (entering) {
      find_candidates(level);
      done = level.waiting.empty();
      if (done) answer = PackAnswer::found;
    } else {
      end_piece(level, levels_[depth + 1]);
      if (answer == PackAnswer::found && level.piece < level.ends.size()) {
        start_piece(level, levels_[++depth]);
        entering = true;
        continue;
      }
      clear(level);
      done = answer != PackAnswer::impossible || (!level.burdens && !part_.any_fixed);
    }
    if (!done) {
      answer = stand_next(level);
      if (answer == PackAnswer::found) {
        start_piece(level, levels_[++depth]);
        entering = true;
        continue;
      }
    }
    if (depth == 0) return answer;
    --depth;
    entering = false;
  }
}

// Places the next candidate that fits.
PackAnswer PackSearch::stand_next(Level& level) {
  while (level.next < level.candidates.size()) {
    const Candidate candidate = level.candidates[level.next];
    const auto same = [&](const Candidate& other) { return equal(other.item, candidate.item); };
    const auto tried = level.candidates.begin() + static_cast<std::ptrdiff_t>(level.next++);
    if (std::any_of(level.candidates.begin(), tried, same)) continue;
    if (steps_ <= 0) return PackAnswer::gave_up;
    level.placed = candidate;
    level.before = {low_trail_.size(), floor_trail_.size()};
    if (!place(candidate, level.range)) {
      take_back(candidate.item, level.before);
      continue;
    }
    level.burdens = low_trail_.size() > level.before.low;
    offsets_[z(candidate.item)] = candidate.offset;
    level.piece = 0;
    level.ends.clear();
    for (std::int32_t s = at(candidate.item).begin; s + 1 < at(candidate.item).end; ++s) {
      if (--cross_[z(s)] == 0) level.ends.push_back(s + 1);
    }
    level.ends.push_back(level.range.end);
    return PackAnswer::found;
  }
  return PackAnswer::impossible;
}

// Hands what is left down, or the next piece of it where it falls apart in time.
void PackSearch::start_piece(Level& level, Level& below) {
  below.range = {level.piece == 0 ? level.range.begin : level.ends[level.piece - 1], level.ends[level.piece]};
  ++level.piece;
  below.last = level.placed;
  below.waiting.clear();
  for (const Item i : level.waiting) {
    if (i != level.placed.item && at(i).begin >= below.range.begin && at(i).begin < below.range.end)
      below.waiting.push_back(i);
  }
  if (level.ends.size() == 1) return;
  below.last = {};
  level.old_ranks.clear();
  for (const Item i : below.waiting) level.old_ranks.push_back(rank_[z(i)]);
  rank(below.waiting);
}

void PackSearch::end_piece(const Level& level, const Level& below) {
  if (level.ends.size() == 1) return;
  for (std::size_t k = 0; k < below.waiting.size(); ++k) rank_[z(below.waiting[k])] = level.old_ranks[k];
}

void PackSearch::clear(const Level& level) {
  const PackPart::Item& item = at(level.placed.item);
  for (std::int32_t s = item.begin; s + 1 < item.end; ++s) ++cross_[z(s)];
  take_back(level.placed.item, level.before);
}

// Crowds are those of what is still to come.
void PackSearch::rank(const std::vector<Item>& items) {
  std::vector<Index> crowd;
  for (const Item i : items) {
    crowd.push_back(*std::max_element(rest_.begin() + at(i).begin, rest_.begin() + at(i).end));
    steps_ -= at(i).end - at(i).begin;
  }
  std::vector<Item> sorted = items;
  sort_by(rule_, part_, crowd, sorted);
  for (std::size_t r = 0; r < sorted.size(); ++r) rank_[z(sorted[r])] = static_cast<std::int32_t>(r);
}

void PackSearch::find_candidates(Level& level) {
  steps_ -= static_cast<Index>(level.waiting.size());
  Index lowest_top = std::numeric_limits<Index>::max();
  for (const Item i : level.waiting) lowest_top = std::min(lowest_top, low(i) + at(i).size);
  // What is still free between fixed items may be too narrow for an item that is put there first.
  if (part_.any_fixed) lowest_top = std::numeric_limits<Index>::max();
  level.next = 0;
  level.candidates.clear();
  for (const Item i : level.waiting) {
    const Candidate candidate{low(i), rank_[z(i)], i};
    if (candidate.offset < lowest_top && candidate > level.last) level.candidates.push_back(candidate);
  }
  std::sort(level.candidates.begin(), level.candidates.end());
}

bool PackSearch::place(const Candidate& candidate, Range range) {
  const PackPart::Item& item = at(candidate.item);
  placed_[z(candidate.item)] = 1;
  for (std::int32_t s = item.begin; s < item.end; ++s) rest_[z(s)] -= whole_[z(candidate.item)];
  if (candidate.offset + item.size > capacity_ || (item.fixed >= 0 && candidate.offset != item.fixed)) {
    return false;
  }
  const std::size_t mark = low_trail_.size();
  if (!raise_neighbours(candidate)) return false;
  std::int32_t begin = item.begin, end = item.end;
  for (std::size_t k = mark; k < low_trail_.size(); ++k) {
    begin = std::min(begin, at(low_trail_[k].item).begin);
    end = std::max(end, at(low_trail_[k].item).end);
  }
  refresh_floors(begin, end);
  steps_ -= range.end - range.begin;
  const Index most = capacity_ + slack_;
  bool fits = true;
  for (std::int32_t s = range.begin; s < range.end; ++s) {
    fits &= std::max(candidate.offset, floor_[z(s)]) + rest_[z(s)] <= most;
  }
  return fits;
}

bool PackSearch::raise_neighbours(const Candidate& candidate) {
  const Index top = candidate.offset + at(candidate.item).size;
  const std::size_t begin = first_neighbour_[z(candidate.item)],
                    end = first_neighbour_[z(candidate.item) + 1];
  steps_ -= static_cast<Index>(end - begin);
  for (std::size_t k = begin; k < end; ++k) {
    const Item other = neighbours_[k];
    if (placed_[z(other)] || low(other) >= top) continue;
    if (at(other).fixed >= 0) return false;
    low_trail_.push_back({other, low(other)});
    low(other) = aligned(top, at(other).alignment);
    if (low(other) + at(other).size > capacity_) return false;
  }
  return true;
}

// Others' lows only rise, so a floor stays where the item does whose it is.
void PackSearch::refresh_floors(std::int32_t begin, std::int32_t end) {
  for (std::int32_t s = begin; s < end; ++s) {
    const Item item = floor_item_[z(s)];
    if (item < 0 || (!placed_[z(item)] && low(item) == floor_[z(s)])) continue;
    floor_trail_.push_back({s, item});
    find_floor(s);
  }
}

void PackSearch::find_floor(std::int32_t section) {
  steps_ -= static_cast<Index>(first_member_[z(section) + 1] - first_member_[z(section)]);
  Index least = std::numeric_limits<Index>::max();
  Item whose = -1;
  for (std::size_t k = first_member_[z(section)]; k < first_member_[z(section) + 1]; ++k) {
    const Item i = members_[k];
    if (placed_[z(i)] || low(i) >= least) continue;
    least = low(i);
    whose = i;
  }
  floor_[z(section)] = whose < 0 ? 0 : least;
  floor_item_[z(section)] = whose;
}

void PackSearch::take_back(Item item, const Mark& before) {
  placed_[z(item)] = 0;
  for (std::int32_t s = at(item).begin; s < at(item).end; ++s) rest_[z(s)] += whole_[z(item)];
  for (; low_trail_.size() > before.low; low_trail_.pop_back())
    low(low_trail_.back().item) = low_trail_.back().low;
  for (; floor_trail_.size() > before.floor; floor_trail_.pop_back()) {
    const FloorChange& change = floor_trail_.back();
    floor_item_[z(change.section)] = change.item;
    floor_[z(change.section)] = low(change.item);
  }
}

bool PackSearch::equal(Item a, Item b) const {
  const PackPart::Item &one = at(a), &other = at(b);
  return one.begin == other.begin && one.end == other.end && one.size == other.size &&
         one.alignment == other.alignment && one.fixed == other.fixed;
}

}  // namespace wafer::inline v0
