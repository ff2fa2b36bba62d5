// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/collectives.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <span>
#include <vector>

namespace wafer::inline v0 {

/// Cores in a row or column, counted from `first`.
struct Line {
  CoreId first = 0;
  Index cores = 1;
  Direction direction = Direction::east;
};

/// Cores in the order in which pieces go round, each on a straight way to the next, and each one's piece.
struct Ring {
  std::vector<CoreId> cores;
  std::vector<WaveletRange> pieces;
  std::vector<std::uint8_t> colours;  ///< of the message that each core sends
};
/// 0, 2, 4, …, 5, 3, 1 of a line: nobody is more than two hops from the next, and no link serves two.
/// Colours 0 to 4.
Ring interleaved_ring(const Traffic& traffic, const Line& line);
/// Through all cores of a rectangle with an even side, always to a neighbour. Colours 0 and 1.
Ring hamiltonian_ring(const Traffic& traffic, const CoreArea& area);

/// Adds phases of messages to a collective. A message waits for what came to its core in earlier phases and
/// shares wavelets with it, wholly.
class CollectiveBuilder {
 public:
  CollectiveBuilder(const CollectiveRequest& request, const Method& method, const Machine& machine);

  /// Sums a line into its first core, wavelet by wavelet: no core waits for a whole message.
  void add_tree(const Line& line, const ReduceTree& tree, int colour);
  void add_chain(const std::vector<CoreId>& cores);
  void add_flood(Core root, int colour);
  /// Afterwards each core of the ring has its piece of the ring's sum.
  void add_ring_scatter(const Ring& ring);
  /// Each core's piece to all of the ring.
  void add_ring_gather(const Ring& ring);
  void add_scatter(Core root);
  void add_gather(Core root);
  void add_send(Core from, Core to);
  void end_phase(std::string_view name);

  const Traffic& traffic() const { return collective_.traffic; }
  Collective take() { return std::move(collective_); }

 private:
  struct Leg {
    CoreId from = 0, to = 0;
    WaveletRange range;
    Combine combine = Combine::store;
    int colour = 0;
  };
  /// To one core, along the row and then along the column.
  MessageId add(const Leg& leg, std::span<const Need> needs);
  MessageId add(Message message, std::span<const Segment> route, std::span<const Delivery> deliveries,
                std::span<const Need> needs);
  WaveletRange all() const { return {0, collective_.request.wavelets}; }

  Collective collective_;
  std::vector<std::vector<MessageId>> arrived_;  // at each core, in phases that have ended
};

}  // namespace wafer::inline v0
