// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/fabric/collective_cost.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

/// Reads the terms of all phases off the messages, in an order in which each follows those it needs.
class TermsReader {
 public:
  explicit TermsReader(const Collective& collective)
      : traffic_(collective.traffic),
        phases_(collective.phases),
        way_(traffic_.size()),
        stage_(traffic_.size()) {
    const auto cores = static_cast<std::size_t>(traffic_.rows() * traffic_.columns());
    sent_.resize(cores);
    received_.resize(cores);
    used_.resize(cores * 4);
  }

  std::vector<CostTerms> run() {
    std::vector<CostTerms> terms(phases_.size());
    const std::vector<MessageId> order = order_of(traffic_);
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
      begin_ = phase == 0 ? 0 : phases_[phase - 1].end;
      std::fill(sent_.begin(), sent_.end(), 0);
      std::fill(received_.begin(), received_.end(), 0);
      std::fill(used_.begin(), used_.end(), false);
      for (const MessageId id : order) {
        if (id >= begin_ && id < phases_[phase].end) read(id, terms[phase]);
      }
    }
    return terms;
  }

 private:
  struct Way {
    Index length = 0, turns = 0;
  };

  void read(MessageId id, CostTerms& terms) {
    const Message& message = traffic_.message(id);
    Way longest;
    Index stage = 0;
    for (const Need& need : traffic_.needs(id)) {
      if (need.message < begin_) continue;
      if (way_[need.message].length > longest.length) longest = way_[need.message];
      stage = std::max(stage, stage_[need.message]);
    }
    const Way own = walk(id, terms);
    way_[id] = {longest.length + own.length, longest.turns + own.turns};
    stage_[id] = stage + 1;
    if (way_[id].length > terms.length) {
      terms.length = way_[id].length;
      terms.turns = way_[id].turns;
    }
    terms.depth = std::max(terms.depth, stage_[id]);
    terms.wavelets = std::max(terms.wavelets, sent_[message.from] += message.count);
    for (const Delivery& delivery : traffic_.deliveries(id))
      terms.wavelets = std::max(terms.wavelets, received_[delivery.core] += message.count);
  }

  /// The longest branch of a route; counts its links.
  Way walk(MessageId id, CostTerms& terms) {
    const auto route = traffic_.route(id);
    std::vector<Way> at_end(route.size());
    Way longest;
    for (std::size_t i = 0; i < route.size(); ++i) {
      const Segment& segment = route[i];
      Way way;
      if (segment.start != traffic_.message(id).from) {
        for (std::size_t before = 0; before < i; ++before) {
          if (const Index distance = place_on(route[before], segment.start); distance >= 0) {
            const Index missing = route[before].hops - distance;
            const bool turned = route[before].direction != segment.direction;
            way = {at_end[before].length - missing, at_end[before].turns + (turned ? 1 : 0)};
            break;
          }
        }
      }
      at_end[i] = {way.length + segment.hops, way.turns};
      if (at_end[i].length > longest.length) longest = at_end[i];
      terms.hops += segment.hops * traffic_.message(id).count;
      count_links(segment, terms);
    }
    return longest;
  }

  /// How many hops after a segment's start it touches a core; -1 where it does not.
  Index place_on(const Segment& segment, CoreId core) const {
    const Index stride = traffic_.stride(segment.direction);
    const Index way = static_cast<Index>(core) - static_cast<Index>(segment.start);
    if (way % stride != 0) return -1;
    const Index hops = way / stride;
    const bool same_row = traffic_.place(core).row == traffic_.place(segment.start).row;
    if ((stride == 1 || stride == -1) && traffic_.columns() > 1 && !same_row) return -1;
    return hops >= 1 && hops <= segment.hops ? hops : -1;
  }

  void count_links(const Segment& segment, CostTerms& terms) {
    const Index stride = traffic_.stride(segment.direction);
    for (Index hop = 0, at = segment.start; hop < segment.hops; ++hop, at += stride) {
      const auto link = static_cast<std::size_t>(at) * 4 + static_cast<std::size_t>(segment.direction);
      if (!used_[link]) ++terms.links;
      used_[link] = true;
    }
  }

  const Traffic& traffic_;
  const std::vector<Phase>& phases_;
  std::vector<Way> way_;      // of each message, with those it needs
  std::vector<Index> stage_;  // likewise
  std::vector<Index> sent_, received_;
  std::vector<bool> used_;
  MessageId begin_ = 0;
};

}  // namespace

std::vector<CostTerms> terms_of(const Collective& collective) {
  const Traffic& traffic = collective.traffic;
  Machine any = Machine::mesh(std::max<Index>(traffic.rows(), 1), std::max<Index>(traffic.columns(), 1));
  any.colours = 256;
  traffic.check(any);
  return TermsReader(collective).run();
}

}  // namespace wafer::inline v0
