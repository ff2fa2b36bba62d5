// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// A core by number: row * columns of the mesh + column.
using CoreId = std::uint32_t;
using MessageId = std::uint32_t;

enum class Direction : std::uint8_t { east, west, south, north };
constexpr Direction opposite(Direction direction) {
  return static_cast<Direction>(static_cast<std::uint8_t>(direction) ^ 1U);
}

/// A straight piece of a route: `hops` links from the router of core `start`.
struct Segment {
  CoreId start = 0;
  std::uint32_t hops = 0;
  Direction direction = Direction::east;
};

/// What a core does with the wavelets it takes from a passing message: they lie at the same place in the
/// vector of every core.
enum class Combine : std::uint8_t { add, store };
struct Delivery {
  CoreId core = 0;
  Combine combine = Combine::store;
};

/// A message must not leave before this one has come to its core.
struct Need {
  MessageId message = 0;
  /// Whole: it waits for the last wavelet. Otherwise it follows wavelet by wavelet.
  bool whole = true;
};

/// Wavelets first … first + count - 1 of a core's vector on their way to others.
struct Message {
  CoreId from = 0;
  std::uint32_t step = 0;  ///< in the order of its collective; errors name it
  Index first = 0, count = 0;
  double work = 0;          ///< cycles that the core computes before it sends
  std::uint8_t colour = 0;  ///< of the route
};

/// Any set of messages with dependencies: who sends what to whom, in which order, over which route.
/// A route is a tree of segments, the first of which starts at the sender, each other one at a router that
/// the ones before touch. A message without segments is computing alone. Routers on the way pass a copy to
/// those cores that have a delivery; both ends state what they expect, and `check` compares.
class Traffic {
 public:
  Traffic() = default;
  /// For a mesh of this size. Throws UserError where it is not positive or above 2^24 cores.
  Traffic(Index rows, Index columns);

  /// Adds a message; its id is the number of those before. Needs may name messages that are added later.
  /// Throws UserError for a traffic without a mesh, a negative range or one beyond 2^63, work that is not 0
  /// to 1e15 cycles, and where the wavelets times hops of all messages leave 63 bits.
  MessageId add(const Message& message, std::span<const Segment> route, std::span<const Delivery> deliveries,
                std::span<const Need> needs);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  std::size_t size() const { return messages_.size(); }
  const Message& message(MessageId id) const { return messages_[id]; }
  std::span<const Segment> route(MessageId id) const { return part(segments_, first_segment_, id); }
  /// Sorted by core.
  std::span<const Delivery> deliveries(MessageId id) const { return part(deliveries_, first_delivery_, id); }
  std::span<const Need> needs(MessageId id) const { return part(needs_, first_need_, id); }

  Core place(CoreId id) const { return {id / columns_, id % columns_}; }
  CoreId id(Core core) const { return static_cast<CoreId>(core.row * columns_ + core.column); }
  /// What the number of a core grows by in this direction.
  Index stride(Direction direction) const {
    switch (direction) {
      case Direction::east: return 1;
      case Direction::west: return -1;
      case Direction::south: return columns_;
      case Direction::north: return -columns_;
    }
    return 0;
  }
  /// Wavelets of the longest vector that a message names.
  Index vector_length() const { return vector_length_; }

  /// Throws UserError, naming core and step, where the machine is smaller than the mesh, a route leaves it,
  /// is not connected or meets a faulty core, a colour is over the machine's, a route ends where nobody takes
  /// the message, a core expects a message that does not come by, or a message needs one that never comes to
  /// its core. Whether it ever ends is for `order_of` and the simulator to say.
  void check(const Machine& machine) const;
  /// "message 7 of step 2, from core (0, 3)"
  std::string text_of_message(MessageId id) const;

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<std::size_t>& first,
                                 MessageId id) {
    return std::span<const T>(all).subspan(first[id], first[id + 1] - first[id]);
  }

  Index rows_ = 0, columns_ = 0, vector_length_ = 0;
  Index wavelet_hops_ = 0;  // of all messages, with one more hop each; held to 63 bits
  std::vector<Message> messages_;
  std::vector<Segment> segments_;
  std::vector<Delivery> deliveries_;
  std::vector<Need> needs_;
  std::vector<std::size_t> first_segment_{0}, first_delivery_{0}, first_need_{0};
};

/// Which messages need each message.
class Followers {
 public:
  /// Throws UserError where a message needs one that is not there.
  explicit Followers(const Traffic& traffic);
  /// Each follower, and whether it waits for the whole message.
  std::span<const Need> of(MessageId id) const {
    return std::span<const Need>(followers_).subspan(first_[id], first_[id + 1] - first_[id]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<Need> followers_;
};

/// The messages in an order in which each follows those it needs. Throws UserError that names the cores and
/// steps of a cycle, and as Followers.
std::vector<MessageId> order_of(const Traffic& traffic);

/// "deadlock: message 3 of step 1, from core (0, 1), waits for …": a cycle among those that are not gone,
/// each of which must need another one.
std::string deadlock_text(const Traffic& traffic, const std::vector<bool>& gone);

}  // namespace wafer::inline v0
