// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>
#include <wafer/fabric/traffic.hpp>

#include <algorithm>

namespace wafer::inline v0 {

Traffic::Traffic(Index rows, Index columns) : rows_(rows), columns_(columns) {
  if (rows < 1 || columns < 1 || checked_mul(rows, columns) > kMostMeshCores) {
    throw UserError("traffic: expected a mesh of 1 to 2^24 cores, got " + std::to_string(rows) + " x " +
                    std::to_string(columns));
  }
}

MessageId Traffic::add(const Message& message, std::span<const Segment> route,
                       std::span<const Delivery> deliveries, std::span<const Need> needs) {
  const auto id = static_cast<MessageId>(messages_.size());
  if (columns_ == 0) throw UserError("traffic: expected a mesh before the first message, got none");
  constexpr double kMostWork = 1e15;  // cycles; what many of them add up to is a number, and nearly exact
  if (message.first < 0 || message.count < 0 || !(message.work >= 0 && message.work <= kMostWork)) {
    throw UserError("traffic: expected a range of wavelets and work of 0 or more, up to 1e15 cycles, got " +
                    std::to_string(message.count) + " wavelets from " + std::to_string(message.first) +
                    " and " + std::to_string(message.work) + " cycles in message " + std::to_string(id));
  }
  Index hops = 1;
  for (const Segment& segment : route) hops += segment.hops;
  const Index end = checked_add(message.first, message.count);
  wavelet_hops_ = checked_add(wavelet_hops_, checked_mul(message.count, hops));
  vector_length_ = std::max(vector_length_, end);
  messages_.push_back(message);
  segments_.insert(segments_.end(), route.begin(), route.end());
  deliveries_.insert(deliveries_.end(), deliveries.begin(), deliveries.end());
  std::sort(deliveries_.begin() + static_cast<std::ptrdiff_t>(first_delivery_.back()), deliveries_.end(),
            [](const Delivery& a, const Delivery& b) { return a.core < b.core; });
  needs_.insert(needs_.end(), needs.begin(), needs.end());
  first_segment_.push_back(segments_.size());
  first_delivery_.push_back(deliveries_.size());
  first_need_.push_back(needs_.size());
  return id;
}

std::string Traffic::text_of_message(MessageId id) const {
  return "message " + std::to_string(id) + " of step " + std::to_string(message(id).step) + ", from core " +
         text_of(place(message(id).from));
}

namespace {

/// Holds one message after the other against the mesh.
class TrafficCheck {
 public:
  TrafficCheck(const Traffic& traffic, const Machine& machine)
      : traffic_(traffic),
        machine_(machine),
        touched_(static_cast<std::size_t>(traffic.rows() * traffic.columns()), 0) {
    if (!machine.faults.empty()) mark_faults();
  }

  void run() {
    for (MessageId id = 0; id < traffic_.size(); ++id) {
      id_ = id;
      const Message& message = traffic_.message(id);
      if (message.from >= touched_.size())
        fail("expected a core of the mesh, got number " + std::to_string(message.from));
      if (message.colour >= machine_.colours) {
        fail("is over the routers' colours: expected fewer than " + std::to_string(machine_.colours) +
             ", got colour " + std::to_string(message.colour));
      }
      touch(message.from);
      walk();
      expect_takers();
      expect_needs();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError("traffic: " + traffic_.text_of_message(id_) + ": " + what);
  }

  void mark_faults() {
    faulty_.assign(touched_.size(), false);
    for (const CoreArea& area : machine_.faults) {
      const Index end_row = std::min(area.row + area.rows, traffic_.rows());
      const Index end_column = std::min(area.column + area.columns, traffic_.columns());
      for (Index row = area.row; row < end_row; ++row) {
        for (Index column = area.column; column < end_column; ++column)
          faulty_[traffic_.id({row, column})] = true;
      }
    }
  }

  void touch(CoreId core) {
    if (!faulty_.empty() && faulty_[core])
      fail("goes through the faulty core " + text_of(traffic_.place(core)));
    touched_[core] = id_ + 1;
  }

  bool touched(CoreId core) const { return core < touched_.size() && touched_[core] == id_ + 1; }

  void walk() {
    for (const Segment& segment : traffic_.route(id_)) {
      const bool first = &segment == traffic_.route(id_).data();
      if (first ? segment.start != traffic_.message(id_).from : !touched(segment.start))
        fail("its route is not connected at core " + text_of(traffic_.place(segment.start)));
      const Core start = traffic_.place(segment.start);
      const Index room = segment.direction == Direction::east    ? traffic_.columns() - 1 - start.column
                         : segment.direction == Direction::west  ? start.column
                         : segment.direction == Direction::south ? traffic_.rows() - 1 - start.row
                                                                 : start.row;
      if (segment.hops < 1 || segment.hops > room) {
        fail("its route leaves the mesh: expected 1 to " + std::to_string(room) + " hops from core " +
             text_of(start) + ", got " + std::to_string(segment.hops));
      }
      const Index stride = traffic_.stride(segment.direction);
      for (Index hop = 1, at = segment.start + stride; hop <= segment.hops; ++hop, at += stride) {
        if (touched(static_cast<CoreId>(at)))
          fail("its route meets itself at core " + text_of(traffic_.place(static_cast<CoreId>(at))));
        touch(static_cast<CoreId>(at));
      }
    }
  }

  bool taken_at(MessageId message, CoreId core) const {
    const auto deliveries = traffic_.deliveries(message);
    const auto at = std::lower_bound(deliveries.begin(), deliveries.end(), core,
                                     [](const Delivery& delivery, CoreId id) { return delivery.core < id; });
    return at != deliveries.end() && at->core == core;
  }

  void expect_takers() const {
    const auto route = traffic_.route(id_);
    const auto deliveries = traffic_.deliveries(id_);
    for (std::size_t i = 0; i < deliveries.size(); ++i) {
      const CoreId core = deliveries[i].core;
      const bool twice = i > 0 && deliveries[i - 1].core == core;
      if (deliveries[i].combine > Combine::store) fail("is neither added nor stored where it is taken");
      if (!touched(core) || core == traffic_.message(id_).from || twice) {
        fail("unmatched: core " +
             (core < touched_.size() ? text_of(traffic_.place(core)) : std::to_string(core)) +
             (twice ? " expects it twice" : " expects it, but its route does not pass there"));
      }
    }
    for (const Segment& segment : route) {
      const auto end = static_cast<CoreId>(segment.start + segment.hops * traffic_.stride(segment.direction));
      const bool goes_on =
          std::any_of(route.begin(), route.end(), [&](const Segment& other) { return other.start == end; });
      if (!goes_on && !taken_at(id_, end))
        fail("unmatched: nobody takes it at its end, core " + text_of(traffic_.place(end)));
    }
  }

  void expect_needs() const {
    for (const Need& need : traffic_.needs(id_)) {
      if (need.message >= traffic_.size()) fail("needs message " + std::to_string(need.message) + " of none");
      const CoreId core = traffic_.message(id_).from;
      const bool computed =
          traffic_.deliveries(need.message).empty() && traffic_.message(need.message).from == core;
      if (!taken_at(need.message, core) && !computed)
        fail("unmatched: it waits for " + traffic_.text_of_message(need.message) +
             ", which never comes there");
    }
  }

  const Traffic& traffic_;
  const Machine& machine_;
  std::vector<MessageId> touched_;  // the last message, counted from 1, that passed each router
  std::vector<bool> faulty_;
  MessageId id_ = 0;
};

}  // namespace

void Traffic::check(const Machine& machine) const {
  machine.check();
  if (machine.rows < rows_ || machine.columns < columns_) {
    throw UserError("traffic: expected a machine of at least " + std::to_string(rows_) + " x " +
                    std::to_string(columns_) + " cores, got " + std::to_string(machine.rows) + " x " +
                    std::to_string(machine.columns));
  }
  TrafficCheck(*this, machine).run();
}

}  // namespace wafer::inline v0
