// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/packer.hpp>

#include "compiler/packer_part.hpp"
#include "compiler/packer_search.hpp"

#include <wafer/error.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

namespace wafer::inline v0 {

namespace {

constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr Index kMostTries = 12'000'000;  // of one heuristic with one part, by all orders
constexpr Index kStepsOfTry = 100;        // what one of them costs

std::string number(Index value) { return std::to_string(value); }
std::string name_of(std::size_t buffer) { return "pack: buffer " + std::to_string(buffer); }

bool takes_room(const PackBuffer& b) { return b.begin < b.end && b.size + b.padding > 0; }

/// What is known of one part.
struct PartResult {
  std::vector<Index> offsets;
  Index height = kNone;
  Index bound = 0;  // proved: it cannot be lower
};

void keep_better(const PackPart& part, std::optional<std::vector<Index>> offsets, PartResult& best) {
  if (!offsets) return;
  const Index height = part.height(*offsets);
  if (height >= best.height) return;
  best.height = height;
  best.offsets = std::move(*offsets);
}

/// Takes what it costs off `effort`.
void try_heuristics(const PackPart& part, Index goal, Index& effort, PartResult& best) {
  const std::vector<PackOrder> orders = pack_orders(part);
  const auto n = static_cast<Index>(part.items.size());
  if (!part.any_fixed) keep_better(part, pack_by_time(part), best);
  const Index all_tries = std::min(kMostTries, effort / kStepsOfTry);
  Index tries = all_tries;
  for (const PackOrder& order : orders) {
    if (best.height <= goal) return;
    if (!part.any_fixed) keep_better(part, pack_lowest(part, order, best.height, tries), best);
  }
  effort -= (all_tries - std::max(tries, Index{0})) * kStepsOfTry;
  for (const PackOrder& order : orders) {
    if (best.height <= goal) return;
    const Index steps = n * n / 2;
    if (steps > effort && best.height != kNone) return;
    keep_better(part, pack_tightest(part, order, best.height), best);
    effort -= steps;
  }
}

/// Searches by each rule in turn, a little longer in each round: some find at once what others never do.
PackAnswer search_in_turn(PackSearch& search, Index capacity, Index first_steps, Index steps) {
  for (Index limit = first_steps; steps > 0; limit *= 2) {
    for (const PackRule& rule : kPackRules) {
      const Index given = std::min(limit, steps);
      Index left = given;
      const PackAnswer answer = search.run(rule, capacity, left);
      if (answer != PackAnswer::gave_up) return answer;
      steps -= given;
      if (steps <= 0) break;
    }
  }
  return PackAnswer::gave_up;
}

/// Searches for `goal` first, then by bisection between what was given up and what is known.
void improve(const PackPart& part, Index goal, bool goal_only, Index effort, PartResult& best) {
  PackSearch search(part);
  const auto n = static_cast<Index>(part.items.size());
  const Index descent = n * (n + part.sections);  // about the steps of a search that never turns back
  Index capacity = goal, failed = goal - 1;
  while (best.height > capacity && capacity > failed && effort > 0) {
    const Index given = goal_only ? effort : std::max(effort / 2, std::min(effort, descent));
    const PackAnswer answer = search_in_turn(search, capacity, 2 * descent, given);
    effort -= given;
    if (answer == PackAnswer::found) {
      keep_better(part, search.offsets(), best);
    } else {
      failed = capacity;
      if (answer == PackAnswer::impossible) best.bound = capacity + 1;
      if (goal_only) return;
    }
    capacity = failed + (best.height - failed) / 2;
  }
}

PartResult pack_part(const PackPart& part, Index goal, bool goal_only, Index effort) {
  PartResult best;
  best.bound = part.bound;
  try_heuristics(part, goal, effort, best);
  if (best.height > goal && effort > 0 && PackSearch::suits(part))
    improve(part, goal, goal_only, effort, best);
  return best;
}

/// Which buffers take room, in groups that share no moment; in order of time.
std::vector<std::vector<std::size_t>> split_in_time(std::span<const PackBuffer> buffers) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (takes_room(buffers[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].begin < buffers[b].begin; });
  std::vector<std::vector<std::size_t>> groups;
  Index end = 0;
  for (std::size_t i : order) {
    if (groups.empty() || buffers[i].begin >= end) groups.emplace_back();
    end = groups.back().empty() ? buffers[i].end : std::max(end, buffers[i].end);
    groups.back().push_back(i);
  }
  return groups;
}

}  // namespace

void check_buffers(std::span<const PackBuffer> buffers) {
  Index total = 0, top = 0;  // the sum of the two bounds every offset
  std::vector<std::size_t> fixed;
  std::vector<Index> offsets(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PackBuffer& b = buffers[i];
    if (b.size < 0 || b.padding < 0) {
      throw UserError(name_of(i) + ": expected a size and padding of at least 0, got " + number(b.size) +
                      " and " + number(b.padding));
    }
    if (b.begin > b.end) {
      throw UserError(name_of(i) + ": its lifetime runs backwards, from " + number(b.begin) + " to " +
                      number(b.end));
    }
    if (b.alignment < 1) {
      throw UserError(name_of(i) + ": expected an alignment of at least 1, got " + number(b.alignment));
    }
    Index room = 0, end = 0;
    bool over = __builtin_add_overflow(b.size, b.padding, &room);
    over |= !over && b.offset && __builtin_add_overflow(*b.offset, room, &end);
    over |= !over && __builtin_add_overflow(room, b.alignment, &room);
    over |= !over && __builtin_add_overflow(total, room, &total);
    top = std::max(top, end);
    Index sum = 0;
    if (over || __builtin_add_overflow(total, top, &sum)) {
      throw UserError(name_of(i) + ": sizes, paddings and alignments up to this one add up to 2^63 or more");
    }
    if (!b.offset) continue;
    if (*b.offset < 0 || *b.offset % b.alignment != 0) {
      throw UserError(name_of(i) + ": expected a fixed offset that is a multiple of " + number(b.alignment) +
                      ", got " + number(*b.offset));
    }
    offsets[i] = *b.offset;
    fixed.push_back(i);
  }
  if (const auto pair = find_overlap(buffers, offsets, fixed)) {
    throw UserError(name_of(pair->first) + ": its fixed offset " + number(offsets[pair->first]) +
                    " lets it overlap with buffer " + std::to_string(pair->second) + " at " +
                    number(offsets[pair->second]) + "; both live at one time");
  }
}

PackPart::PackPart(std::span<const PackBuffer> buffers) {
  std::vector<Index> moments;
  unit = 0;
  for (const PackBuffer& b : buffers) {
    moments.push_back(b.begin);
    moments.push_back(b.end);
    unit = std::gcd(unit, b.alignment);
    any_fixed |= b.offset.has_value();
  }
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto section_of = [&](Index moment) {
    return static_cast<std::int32_t>(std::lower_bound(moments.begin(), moments.end(), moment) -
                                     moments.begin());
  };
  sections = static_cast<std::int32_t>(moments.size()) - 1;
  live.resize(moments.size());
  std::vector<Index> whole(moments.size());
  Index slack = 0;
  for (const PackBuffer& b : buffers) {
    const Item item{section_of(b.begin),       section_of(b.end),
                    b.size + b.padding,        b.alignment,
                    b.offset ? *b.offset : -1, static_cast<double>(b.end) - static_cast<double>(b.begin)};
    items.push_back(item);
    slack = std::max(slack, aligned(item.size, unit) - item.size);
    const auto begin = static_cast<std::size_t>(item.begin), end = static_cast<std::size_t>(item.end);
    live[begin] += item.size;
    live[end] -= item.size;
    whole[begin] += aligned(item.size, unit);
    whole[end] -= aligned(item.size, unit);
    if (item.fixed >= 0) bound = std::max(bound, item.fixed + item.size);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::partial_sum(whole.begin(), whole.end(), whole.begin());
  live.pop_back();  // nothing lives after the last moment
  bound = std::max(bound, *std::max_element(live.begin(), live.end()));
  // All but the topmost item take whole units.
  bound = std::max(bound, *std::max_element(whole.begin(), whole.end()) - slack);
}

Index PackPart::height(std::span<const Index> offsets) const {
  Index top = 0;
  for (std::size_t i = 0; i < items.size(); ++i) top = std::max(top, offsets[i] + items[i].size);
  return top;
}

Packing pack(std::span<const PackBuffer> buffers, const PackOptions& options) {
  check_buffers(buffers);
  Packing packing;
  packing.offsets.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) packing.offsets[i] = buffers[i].offset.value_or(0);
  const std::vector<std::vector<std::size_t>> groups = split_in_time(buffers);
  std::vector<PackPart> parts;
  Index bound = 0;
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<PackBuffer> own;
    for (std::size_t i : group) own.push_back(buffers[i]);
    const PackPart& part = parts.emplace_back(own);
    const Index live = *std::max_element(part.live.begin(), part.live.end());
    packing.max_live = std::max(packing.max_live, live);
    bound = std::max(bound, part.bound);
    if (options.capacity && part.bound > *options.capacity) {
      throw CompileError("pack: the " + std::to_string(group.size()) + " buffers that live in [" +
                         number(own.front().begin) + ", " +
                         number(std::max_element(own.begin(), own.end(),
                                                 [](const auto& a, const auto& b) { return a.end < b.end; })
                                    ->end) +
                         ") need at least " + number(part.bound) + " bytes at one time, " +
                         "more than the capacity of " + number(*options.capacity));
    }
  }
  Index goal = std::max(bound, std::min(options.capacity.value_or(0), kNone - 1));
  for (std::size_t g = 0; g < parts.size(); ++g) {
    const PartResult result = pack_part(parts[g], goal, options.capacity.has_value(), options.effort);
    for (std::size_t k = 0; k < groups[g].size(); ++k) packing.offsets[groups[g][k]] = result.offsets[k];
    packing.height = std::max(packing.height, result.height);
    bound = std::max(bound, result.bound);
    goal = std::max(goal, result.height);  // no use in packing another part lower than this one
  }
  packing.optimal = packing.height <= bound;
  if (options.capacity && packing.height > *options.capacity) {
    throw CompileError("pack: expected a height of at most " + number(*options.capacity) + ", got " +
                       number(packing.height) +
                       (bound > *options.capacity ? "; it was proved that no packing has it"
                                                  : "; the bound is " + number(bound)));
  }
  return packing;
}

}  // namespace wafer::inline v0
