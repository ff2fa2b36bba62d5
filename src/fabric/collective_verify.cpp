// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/collectives.hpp>

#include <algorithm>
#include <utility>

namespace wafer::inline v0 {

namespace {

/// Runs the messages on sums of random marks, one a core, modulo 2^64: two different sets of cores have
/// different sums, but for a chance of 2^-64. Vectors are cut where any range begins or ends.
class SumCheck {
 public:
  explicit SumCheck(const Collective& collective)
      : request_(collective.request), traffic_(collective.traffic), area_(request_.area) {}

  void run() {
    cut_vectors();
    // What may overtake does so in one order or the other.
    for (const bool latest_first : {false, true}) run_in(order(latest_first));
  }

 private:
  std::size_t rank(CoreId id) const {
    const Core core = traffic_.place(id);
    if (!area_.contains(core)) {
      throw InternalError("a " + std::string(name_of(request_.kind)) + " uses core " + text_of(core) +
                          " outside of its area");
    }
    return static_cast<std::size_t>((core.row - area_.row) * area_.columns + core.column - area_.column);
  }

  Core core_of(std::size_t rank) const {
    const auto number = static_cast<Index>(rank);
    return {area_.row + number / area_.columns, area_.column + number % area_.columns};
  }

  /// A fixed random number (splitmix64).
  static std::uint64_t mark(std::size_t rank) {
    std::uint64_t x = (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  void cut_vectors() {
    cuts_ = {0, request_.wavelets};
    for (MessageId id = 0; id < traffic_.size(); ++id) {
      const Message& message = traffic_.message(id);
      if (message.first + message.count > request_.wavelets)
        throw InternalError(traffic_.text_of_message(id) + ": is beyond the vector");
      cuts_.push_back(message.first);
      cuts_.push_back(message.first + message.count);
    }
    owners_.clear();
    if (by_pieces()) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(area_.cores()); ++i) {
        const WaveletRange piece = piece_of(request_, core_of(i));
        if (piece.count == 0) continue;
        owners_.emplace_back(piece.first, i);
        cuts_.push_back(piece.first);
        cuts_.push_back(piece.first + piece.count);
      }
      std::sort(owners_.begin(), owners_.end());
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  }

  bool by_pieces() const {
    return request_.kind == CollectiveKind::reduce_scatter || request_.kind == CollectiveKind::all_gather ||
           request_.kind == CollectiveKind::scatter || request_.kind == CollectiveKind::gather;
  }

  std::vector<MessageId> order(bool latest_first) const {
    std::vector<std::vector<MessageId>> followers(traffic_.size());
    std::vector<std::size_t> missing(traffic_.size());
    std::vector<MessageId> ready, order;
    for (MessageId id = 0; id < traffic_.size(); ++id) {
      missing[id] = traffic_.needs(id).size();
      for (const Need& need : traffic_.needs(id)) followers[need.message].push_back(id);
      if (missing[id] == 0) ready.push_back(id);
    }
    for (std::size_t next = 0; latest_first ? !ready.empty() : next < ready.size();) {
      const MessageId id = latest_first ? ready.back() : ready[next++];
      if (latest_first) ready.pop_back();
      order.push_back(id);
      for (const MessageId follower : followers[id]) {
        if (--missing[follower] == 0) ready.push_back(follower);
      }
    }
    if (order.size() < traffic_.size()) throw InternalError("messages of a collective wait for each other");
    return order;
  }

  std::size_t cut_at(Index wavelet) const {
    return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), wavelet) - cuts_.begin());
  }

  void run_in(const std::vector<MessageId>& order) const {
    std::vector<std::vector<MessageId>> passing(cuts_.size() - 1);  // of each part of the vector, in order
    for (const MessageId id : order) {
      const Message& message = traffic_.message(id);
      const std::size_t end = cut_at(message.first + message.count);
      for (std::size_t part = cut_at(message.first); part < end; ++part) passing[part].push_back(id);
    }
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(area_.cores()));
    for (std::size_t part = 0; part < passing.size(); ++part) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = mark(i);
      for (const MessageId id : passing[part]) {
        const std::uint64_t sent = sums[rank(traffic_.message(id).from)];
        for (const Delivery& delivery : traffic_.deliveries(id)) {
          std::uint64_t& sum = sums[rank(delivery.core)];
          sum = delivery.combine == Combine::add ? sum + sent : sent;
        }
      }
      expect(sums, part);
    }
  }

  void expect(const std::vector<std::uint64_t>& sums, std::size_t part) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) total += mark(i);
    // The core whose piece this part is.
    std::size_t owner = 0;
    if (by_pieces()) {
      const auto after =
          std::upper_bound(owners_.begin(), owners_.end(), std::pair(cuts_[part], sums.size()));
      owner = std::prev(after)->second;
    }
    const std::size_t root = is_rooted(request_.kind) ? rank(traffic_.id(request_.root)) : 0;
    switch (request_.kind) {
      case CollectiveKind::send: expect_at(rank(traffic_.id(request_.to)), mark(root), sums, part); break;
      case CollectiveKind::broadcast: expect_everywhere(mark(root), sums, part); break;
      case CollectiveKind::reduce: expect_at(root, total, sums, part); break;
      case CollectiveKind::all_reduce: expect_everywhere(total, sums, part); break;
      case CollectiveKind::reduce_scatter: expect_at(owner, total, sums, part); break;
      case CollectiveKind::all_gather: expect_everywhere(mark(owner), sums, part); break;
      case CollectiveKind::scatter: expect_at(owner, mark(root), sums, part); break;
      case CollectiveKind::gather: expect_at(root, mark(owner), sums, part); break;
    }
  }

  void expect_everywhere(std::uint64_t sum, const std::vector<std::uint64_t>& sums, std::size_t part) const {
    for (std::size_t i = 0; i < sums.size(); ++i) expect_at(i, sum, sums, part);
  }

  void expect_at(std::size_t i, std::uint64_t sum, const std::vector<std::uint64_t>& sums,
                 std::size_t part) const {
    if (sums[i] == sum) return;
    throw InternalError("a " + std::string(name_of(request_.kind)) + " leaves core " + text_of(core_of(i)) +
                        " with another sum than it should have in wavelets " + std::to_string(cuts_[part]) +
                        " to " + std::to_string(cuts_[part + 1] - 1));
  }

  const CollectiveRequest& request_;
  const Traffic& traffic_;
  const CoreArea& area_;
  std::vector<Index> cuts_;
  std::vector<std::pair<Index, std::size_t>> owners_;  // first wavelet of a piece, and its core
};

}  // namespace

void Collective::verify(const Machine& machine) const {
  check(request, machine);
  traffic.check(machine);
  const CoreArea& area = request.area;
  if (area.rows > traffic.rows() - area.row || area.columns > traffic.columns() - area.column)
    throw InternalError("a " + std::string(name_of(request.kind)) + " on a mesh without " + text_of(area));
  MessageId before = 0;
  for (const Phase& phase : phases) {
    if (phase.end < before) throw InternalError("phases of a collective run backwards");
    before = phase.end;
  }
  if (before != traffic.size()) throw InternalError("a message of a collective is in no phase");
  SumCheck(*this).run();
}

std::string Collective::dump() const {
  std::string text = std::string(name_of(request.kind)) + " of " + std::to_string(request.wavelets) +
                     " wavelets on " + text_of(request.area) + " by " + text_of(method, request.area) + "\n";
  MessageId id = 0;
  for (const Phase& phase : phases) {
    text += std::string(phase.name) + ":\n";
    for (; id < phase.end && id < traffic.size(); ++id) {
      const Message& message = traffic.message(id);
      const auto deliveries = traffic.deliveries(id);
      if (deliveries.empty()) continue;
      text += "  " + std::to_string(message.step) + ": " + text_of(traffic.place(message.from)) + " to " +
              text_of(traffic.place(deliveries.front().core));
      if (deliveries.size() > 1) text += " and " + std::to_string(deliveries.size() - 1) + " more";
      text += deliveries.front().combine == Combine::add ? ", add " : ", store ";
      text += std::to_string(message.first) + " + " + std::to_string(message.count) + ", colour " +
              std::to_string(message.colour) + "\n";
    }
  }
  return text;
}

}  // namespace wafer::inline v0
