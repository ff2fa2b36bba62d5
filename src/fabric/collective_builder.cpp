// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/collective_builder.hpp"

#include <algorithm>
#include <array>

namespace wafer::inline v0 {

namespace {

constexpr MessageId kNoMessage = ~MessageId{0};

bool overlap(WaveletRange a, const Message& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

/// Along the row, then along the column.
struct BentRoute {
  std::array<Segment, 2> segments;
  std::size_t count = 0;
};
BentRoute bent_route(const Traffic& traffic, CoreId from, CoreId to) {
  const Core a = traffic.place(from), b = traffic.place(to);
  BentRoute route;
  if (a.column != b.column) {
    route.segments[route.count++] = {from, static_cast<std::uint32_t>(std::abs(b.column - a.column)),
                                     b.column > a.column ? Direction::east : Direction::west};
  }
  if (a.row != b.row) {
    route.segments[route.count++] = {traffic.id({a.row, b.column}),
                                     static_cast<std::uint32_t>(std::abs(b.row - a.row)),
                                     b.row > a.row ? Direction::south : Direction::north};
  }
  return route;
}

}  // namespace

CollectiveBuilder::CollectiveBuilder(const CollectiveRequest& request, const Method& method,
                                     const Machine& machine)
    : collective_{request, method, Traffic(machine.rows, machine.columns), {}},
      arrived_(static_cast<std::size_t>(machine.cores())) {}

MessageId CollectiveBuilder::add(Message message, std::span<const Segment> route,
                                 std::span<const Delivery> deliveries, std::span<const Need> needs) {
  std::vector<Need> all(needs.begin(), needs.end());
  for (const MessageId before : arrived_[message.from]) {
    if (overlap({message.first, message.count}, traffic().message(before))) all.push_back({before, true});
  }
  for (const Need& need : all)
    message.step = std::max(message.step, traffic().message(need.message).step + 1);
  return collective_.traffic.add(message, route, deliveries, all);
}

MessageId CollectiveBuilder::add(const Leg& leg, std::span<const Need> needs) {
  Message message;
  message.from = leg.from;
  message.first = leg.range.first;
  message.count = leg.range.count;
  message.colour = static_cast<std::uint8_t>(leg.colour);
  const Delivery delivery{leg.to, leg.combine};
  const BentRoute route = bent_route(traffic(), leg.from, leg.to);
  return add(message, {route.segments.data(), route.count}, {&delivery, 1}, needs);
}

void CollectiveBuilder::end_phase(std::string_view name) {
  const Traffic& traffic = collective_.traffic;
  const MessageId begin = collective_.phases.empty() ? 0 : collective_.phases.back().end;
  const auto end = static_cast<MessageId>(traffic.size());
  for (MessageId id = begin; id < end; ++id) {
    for (const Delivery& delivery : traffic.deliveries(id)) arrived_[delivery.core].push_back(id);
  }
  collective_.phases.push_back({name, end});
}

void CollectiveBuilder::add_tree(const Line& line, const ReduceTree& tree, int colour) {
  const Index stride = traffic().stride(line.direction);
  const auto core = [&](Index i) { return static_cast<CoreId>(line.first + i * stride); };
  const std::vector<std::uint8_t> colours = colours_of(tree);
  std::vector<std::vector<Need>> children(tree.parents.size());
  for (Index i = tree.cores() - 1; i > 0; --i) {
    const auto self = static_cast<std::size_t>(i);
    const Index parent = tree.parents[self];
    const MessageId id =
        add({core(i), core(parent), all(), Combine::add, colour + colours[self]}, children[self]);
    children[static_cast<std::size_t>(parent)].push_back({id, false});
  }
}

void CollectiveBuilder::add_chain(const std::vector<CoreId>& cores) {
  std::vector<Need> before;
  for (std::size_t i = cores.size() - 1; i > 0; --i) {
    const int colour = static_cast<int>(i % 3);
    before = {{add({cores[i], cores[i - 1], all(), Combine::add, colour}, before), false}};
  }
}

void CollectiveBuilder::add_flood(Core root, int colour) {
  const CoreArea& area = collective_.request.area;
  std::vector<Segment> route;
  std::vector<Delivery> deliveries;
  const auto go = [&](Core start, Index hops, Direction direction) {
    if (hops > 0) route.push_back({traffic().id(start), static_cast<std::uint32_t>(hops), direction});
  };
  go(root, root.column - area.column, Direction::west);
  go(root, area.column + area.columns - 1 - root.column, Direction::east);
  for (Index column = area.column; column < area.column + area.columns; ++column) {
    go({root.row, column}, root.row - area.row, Direction::north);
    go({root.row, column}, area.row + area.rows - 1 - root.row, Direction::south);
    for (Index row = area.row; row < area.row + area.rows; ++row) {
      if (Core{row, column} == root) continue;
      deliveries.push_back({traffic().id({row, column}), Combine::store});
    }
  }
  if (route.empty()) return;
  // The first segment must start at the root: where there is no row to go along, the root's column does.
  Message message;
  message.from = traffic().id(root);
  message.count = all().count;
  message.colour = static_cast<std::uint8_t>(colour);
  add(message, route, deliveries, {});
}

void CollectiveBuilder::add_ring_scatter(const Ring& ring) {
  const std::size_t size = ring.cores.size();
  std::vector<MessageId> last(size, kNoMessage), now(size);
  for (std::size_t step = 0; step + 1 < size; ++step) {
    for (std::size_t i = 0; i < size; ++i) {
      // Piece j sets out behind its core, and comes there last.
      const WaveletRange piece = ring.pieces[(i + 2 * size - 1 - step) % size];
      now[i] = kNoMessage;
      if (piece.count == 0) continue;
      const Need before{last[(i + size - 1) % size], true};
      now[i] = add({ring.cores[i], ring.cores[(i + 1) % size], piece, Combine::add, ring.colours[i]},
                   {&before, step == 0 ? std::size_t{0} : std::size_t{1}});
    }
    last.swap(now);
  }
}

void CollectiveBuilder::add_ring_gather(const Ring& ring) {
  const std::size_t size = ring.cores.size();
  std::vector<MessageId> last(size, kNoMessage), now(size);
  for (std::size_t step = 0; step + 1 < size; ++step) {
    for (std::size_t i = 0; i < size; ++i) {
      const WaveletRange piece = ring.pieces[(i + size - step) % size];
      now[i] = kNoMessage;
      if (piece.count == 0) continue;
      const Need before{last[(i + size - 1) % size], true};
      now[i] = add({ring.cores[i], ring.cores[(i + 1) % size], piece, Combine::store, ring.colours[i]},
                   {&before, step == 0 ? std::size_t{0} : std::size_t{1}});
    }
    last.swap(now);
  }
}

namespace {

/// The other cores of an area, the furthest from the root first; equally far ones by number.
std::vector<Core> by_distance(const CoreArea& area, Core root) {
  std::vector<Core> cores;
  for (Index row = area.row; row < area.row + area.rows; ++row) {
    for (Index column = area.column; column < area.column + area.columns; ++column) {
      if (!(Core{row, column} == root)) cores.push_back({row, column});
    }
  }
  const auto distance = [&](Core core) {
    return std::abs(core.row - root.row) + std::abs(core.column - root.column);
  };
  std::stable_sort(cores.begin(), cores.end(), [&](Core a, Core b) { return distance(a) > distance(b); });
  return cores;
}

}  // namespace

void CollectiveBuilder::add_scatter(Core root) {
  for (const Core core : by_distance(collective_.request.area, root)) {
    const WaveletRange piece = piece_of(collective_.request, core);
    if (piece.count > 0) add({traffic().id(root), traffic().id(core), piece, Combine::store, 0}, {});
  }
}

void CollectiveBuilder::add_gather(Core root) {
  for (const Core core : by_distance(collective_.request.area, root)) {
    const WaveletRange piece = piece_of(collective_.request, core);
    if (piece.count > 0) add({traffic().id(core), traffic().id(root), piece, Combine::store, 0}, {});
  }
}

void CollectiveBuilder::add_send(Core from, Core to) {
  add({traffic().id(from), traffic().id(to), all(), Combine::store, 0}, {});
}

Ring interleaved_ring(const Traffic& traffic, const Line& line) {
  Ring ring;
  const Index stride = traffic.stride(line.direction);
  const auto push = [&](Index i) { ring.cores.push_back(static_cast<CoreId>(line.first + i * stride)); };
  const Index odd = line.cores / 2 * 2 - 1;
  for (Index i = 0; i < line.cores; i += 2) push(i);
  for (Index i = odd; i > 0; i -= 2) push(i);
  // Outward and back have colours of their own, since back passes the routers of outward; neighbours differ.
  const auto outward = static_cast<std::size_t>((line.cores + 1) / 2);
  for (std::size_t i = 0; i < ring.cores.size(); ++i)
    ring.colours.push_back(static_cast<std::uint8_t>(i % 2 + (i < outward ? 0U : 2U)));
  return ring;
}

Ring hamiltonian_ring(const Traffic& traffic, const CoreArea& area) {
  Ring ring;
  // Along the even side, to and fro beside the first line, and back along that.
  const bool rows_even = area.rows % 2 == 0;
  const Index lines = rows_even ? area.rows : area.columns, length = rows_even ? area.columns : area.rows;
  const auto push = [&](Index line, Index place) {
    const Core core =
        rows_even ? Core{area.row + line, area.column + place} : Core{area.row + place, area.column + line};
    ring.colours.push_back(static_cast<std::uint8_t>(ring.cores.size() % 2));
    ring.cores.push_back(traffic.id(core));
  };
  for (Index line = 0; line < lines; ++line) {
    for (Index i = 1; i < length; ++i) push(line, line % 2 == 0 ? i : length - i);
  }
  for (Index line = lines - 1; line >= 0; --line) push(line, 0);
  return ring;
}

}  // namespace wafer::inline v0
