// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/packer_part.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// What a search found out about a height.
enum class PackAnswer : std::uint8_t { found, impossible, gave_up };

/// Depth-first search over all packings in which every item rests on another one or on the ground, placed in
/// order of their offsets; other packings need not be looked at, since what hangs in the air can fall. A
/// branch ends where
///   - an item that was passed over would fit beneath the next one (its place could be filled at no cost),
///   - in some section what is still to come does not fit above the lowest place that is left there,
///   - an equal item failed in the same place, or an item failed that burdens no other.
/// Where the rest falls apart in time, its pieces are searched one by one. These rules are those of Moffitt,
/// "MiniMalloc" (ASPLOS 2023).
class PackSearch {
 public:
  explicit PackSearch(const PackPart& part);

  /// Searches packings no higher than `capacity` for about `steps` looks at an item or section, of which it
  /// takes off what it used. `rule` breaks ties among items that would lie equally low.
  PackAnswer run(const PackRule& rule, Index capacity, Index& steps);

  /// What was found.
  const std::vector<Index>& offsets() const { return offsets_; }

  /// Whether the tables of a search of this part are of a reasonable size.
  static bool suits(const PackPart& part);

 private:
  using Item = std::int32_t;
  struct Candidate {
    Index offset = 0;
    std::int32_t rank = -1;
    Item item = -1;
    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };
  struct Range {
    std::int32_t begin = 0, end = 0;  // sections
  };
  struct Mark {
    std::size_t low = 0, floor = 0;  // lengths of the two trails
  };
  /// One level of the search: a piece of the problem, and the placement in it that stands.
  struct Level {
    Range range;
    Candidate last;             // placed before; what comes next lies no lower
    std::vector<Item> waiting;  // what is still to come
    std::vector<Candidate> candidates;
    std::size_t next = 0;  // candidate
    Candidate placed;
    Mark before;                     // the placement that stands
    bool burdens = false;            // it raised others
    std::vector<std::int32_t> ends;  // of the pieces that the rest falls into
    std::size_t piece = 0;           // next
    std::vector<std::int32_t> old_ranks;
  };
  struct LowChange {
    Item item;
    Index low;
  };
  struct FloorChange {
    std::int32_t section;
    Item item;
  };

  PackAnswer explore();
  PackAnswer stand_next(Level& level);
  void start_piece(Level& level, Level& below);
  void end_piece(const Level& level, const Level& below);
  void clear(const Level& level);
  void rank(const std::vector<Item>& items);
  void find_candidates(Level& level);
  bool place(const Candidate& candidate, Range range);
  bool raise_neighbours(const Candidate& candidate);
  void refresh_floors(std::int32_t begin, std::int32_t end);
  void find_floor(std::int32_t section);
  void take_back(Item item, const Mark& before);
  bool equal(Item a, Item b) const;

  const PackPart::Item& at(Item i) const { return part_.items[static_cast<std::size_t>(i)]; }
  Index& low(Item i) { return low_[static_cast<std::size_t>(i)]; }

  const PackPart& part_;
  std::vector<std::size_t> first_neighbour_, first_member_;
  std::vector<Item> neighbours_;  // of each item: those that live at the same time
  std::vector<Item> members_;     // of each section
  std::vector<Index> whole_;      // size of each item in whole units
  Index slack_ = 0;               // what whole units may be too large by

  PackRule rule_{};
  Index capacity_ = 0;
  Index steps_ = 0;
  std::vector<std::int32_t> rank_;  // by the rule, among the items of its piece
  std::vector<Index> low_;          // no place of an item is lower
  std::vector<char> placed_;
  std::vector<Index> rest_;          // of each section: what is still to come
  std::vector<Index> floor_;         // of each section: the least low_ of what is still to come
  std::vector<Item> floor_item_;     // whose it is, or -1
  std::vector<std::int32_t> cross_;  // how many that are still to come cross the end of a section
  std::vector<LowChange> low_trail_;
  std::vector<FloorChange> floor_trail_;
  std::vector<Level> levels_;
  std::vector<Index> offsets_;
};

}  // namespace wafer::inline v0
