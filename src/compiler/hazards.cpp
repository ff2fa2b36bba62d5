// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/hazards.hpp"

#include <algorithm>
#include <map>

namespace wafer::inline v0 {

namespace {

// Latest accesses, in the same block and across blocks; -1 for none.
struct Latest {
  std::int64_t own = -1, all = -1;
  void add(std::int64_t time, bool across) { (across ? all : own) = std::max(across ? all : own, time); }
  void add(const Latest& other, bool across) {
    if (across) {
      all = std::max({all, other.own, other.all});
    } else {
      own = std::max(own, other.own);
      all = std::max(all, other.all);
    }
  }
};

struct Segment {
  Index end = 0;
  Latest write, read;
};

// An arena's bytes, cut where accesses begin and end.
class Arena {
 public:
  // Adds the accesses that this one must follow.
  void query(const Access& a, Latest& conflicts) const {
    for (auto at = first_after(a.begin); at != segments_.end() && at->first < a.end; ++at) {
      conflicts.add(at->second.write, a.all);
      if (a.write) conflicts.add(at->second.read, a.all);
    }
  }

  void record(const Access& a, std::int64_t time) {
    if (a.begin >= a.end) return;
    split(a.begin);
    split(a.end);
    if (a.write) {
      segments_.erase(segments_.lower_bound(a.begin), segments_.lower_bound(a.end));
      Segment& segment = segments_[a.begin];
      segment.end = a.end;
      segment.write.add(time, a.all);
      return;
    }
    Index covered = a.begin;
    for (auto at = segments_.lower_bound(a.begin); at != segments_.end() && at->first < a.end; ++at) {
      if (covered < at->first) segments_[covered] = unread(at->first, time, a.all);
      at->second.read.add(time, a.all);
      covered = at->second.end;
    }
    if (covered < a.end) segments_[covered] = unread(a.end, time, a.all);
  }

 private:
  static Segment unread(Index end, std::int64_t time, bool all) {
    Segment segment;
    segment.end = end;
    segment.read.add(time, all);
    return segment;
  }

  std::map<Index, Segment>::const_iterator first_after(Index offset) const {
    auto at = segments_.upper_bound(offset);
    if (at != segments_.begin() && std::prev(at)->second.end > offset) --at;
    return at;
  }

  void split(Index offset) {
    auto at = segments_.lower_bound(offset);
    if (at == segments_.begin()) return;
    --at;
    if (at->second.end <= offset) return;
    Segment right = at->second;
    at->second.end = offset;
    segments_[offset] = right;
  }

  std::map<Index, Segment> segments_;
};

}  // namespace

std::vector<Waits> find_waits(const std::vector<std::vector<Access>>& accesses, std::uint32_t body_begin,
                              std::uint32_t body_end, std::uint32_t fallible_end, bool loops) {
  const auto actions = static_cast<std::int64_t>(accesses.size());
  std::vector<Waits> waits(accesses.size());
  Arena arenas[2];
  // Times of the second pass over the body, and after it, are one lap later.
  const auto visit = [&](std::uint32_t a, std::int64_t lap) {
    Latest conflicts;
    for (const Access& x : accesses[a]) {
      if (x.begin < x.end) arenas[static_cast<std::size_t>(x.space)].query(x, conflicts);
    }
    for (const Access& x : accesses[a])
      arenas[static_cast<std::size_t>(x.space)].record(x, lap * actions + a);
    Waits& w = waits[a];
    const auto note = [&](std::int64_t time, std::int32_t& same, std::int32_t& before) {
      if (time < 0) return;
      const auto index = static_cast<std::int32_t>(time % actions);
      const bool in_body = a >= body_begin && a < body_end;
      const bool lap_before =
          in_body && lap == 1 && time < actions && index >= static_cast<std::int32_t>(body_begin);
      std::int32_t& latest = lap_before ? before : same;
      latest = std::max(latest, index);
    };
    note(conflicts.own, w.own, w.own_before);
    note(conflicts.all, w.all, w.all_before);
  };
  for (std::uint32_t a = 0; a < body_end; ++a) visit(a, 0);
  const std::int64_t lap = loops ? 1 : 0;
  for (std::uint32_t a = body_begin; loops && a < body_end; ++a) visit(a, 1);
  for (std::uint32_t a = body_end; a < accesses.size(); ++a) visit(a, lap);
  for (std::size_t a = fallible_end; a < accesses.size(); ++a) {
    waits[a].all = std::max(waits[a].all, static_cast<std::int32_t>(fallible_end) - 1);
  }
  return waits;
}

}  // namespace wafer::inline v0
