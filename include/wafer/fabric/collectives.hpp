// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/reduce_tree.hpp>
#include <wafer/fabric/traffic.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// Every core holds a vector of the same length. Wavelet i of one core meets wavelet i of the others.
enum class CollectiveKind : std::uint8_t {
  send,            ///< the root's vector, to one other core
  broadcast,       ///< the root's vector, to all
  reduce,          ///< the sum, to the root
  all_reduce,      ///< the sum, to all
  reduce_scatter,  ///< to each core its piece of the sum
  all_gather,      ///< each core's own piece, to all
  scatter,         ///< to each core its piece of the root's vector
  gather           ///< each core's own piece, to the root
};
std::string_view name_of(CollectiveKind kind);
/// Whether a request of this kind names a root.
bool is_rooted(CollectiveKind kind);

enum class Algorithm : std::uint8_t {
  flood,  ///< routers copy one stream to all
  trees,  ///< sums along each row, then along the root's column; then a flood or a scatter where wanted
  snake,  ///< a chain through all cores, row by row; then a flood where wanted
  ring,  ///< pieces go round: on a line in the order 0, 2, 4, …, 5, 3, 1; on a rectangle a Hamiltonian ring
  rings,    ///< two opposite Hamiltonian rings, half of the data each; needs an even side
  buckets,  ///< rings along rows, then along columns
  direct    ///< the root's stream of pieces; all_gather: gathered, then flooded
};
std::string_view name_of(Algorithm algorithm);

/// What a collective is built by.
struct Method {
  Algorithm algorithm = Algorithm::trees;
  LineTree along_rows = LineTree::chain, along_columns = LineTree::chain;  ///< of `trees`
  bool middle = false;  ///< all_reduce by trees: through a root in the middle, not at the first core
  friend bool operator==(const Method&, const Method&) = default;
};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::reduce;
  CoreArea area{};
  Index wavelets = 1;  ///< of the whole vector, before and after
  Core root{};         ///< of send, broadcast, reduce, scatter and gather: a core of the area
  Core to{};           ///< of send: a core of the area
};
/// "star", "middle_auto", "chain_then_chain", "snake", "ring", …
std::string text_of(const Method& method, const CoreArea& area);

/// Where the method sums or sends from: the request's root, or the area's middle or first core.
Core root_of(const CollectiveRequest& request, const Method& method);

struct WaveletRange {
  Index first = 0, count = 0;
};
/// Part i of n of a range, the first ones one longer where it does not divide. Throws UserError unless
/// 0 <= i < n.
WaveletRange part_of(WaveletRange range, Index i, Index n);
/// The piece of a core: its column's part, and of that its row's. Throws UserError for a core off the area.
WaveletRange piece_of(const CollectiveRequest& request, Core core);

/// Messages whose cycles the formula gives together: those before `end` that are in no earlier phase.
struct Phase {
  std::string_view name;
  MessageId end = 0;
};

/// A collective as data.
struct Collective {
  CollectiveRequest request;
  Method method;
  Traffic traffic;
  std::vector<Phase> phases;

  /// Throws as `build`, UserError where the traffic does not fit the machine (Traffic::check), and
  /// InternalError where any core would end with another sum than it should, whatever the order of messages
  /// that may overtake.
  void verify(const Machine& machine) const;
  /// One line a message.
  std::string dump() const;
};

/// Throws UserError for a kind that is none, 0 wavelets, an area off the machine or a root outside the area;
/// CompileError where the method cannot do it, a core of the area (of a send: of its route) is faulty, or
/// rings are so long that they are more than 2^24 messages. Nothing goes round faults: choose an area beside
/// them.
Collective build(const CollectiveRequest& request, const Method& method, const Machine& machine);
/// One message along its row, then along its column.
CollectiveRequest send_request(Core from, Core to, Index wavelets);

/// Throws as `build`; without a method, for what concerns none.
void check(const CollectiveRequest& request, const Machine& machine);
/// Throws as `build`, but for the number of messages.
void check_method(const CollectiveRequest& request, const Method& method, const Machine& machine);

}  // namespace wafer::inline v0
