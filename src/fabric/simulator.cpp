// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/simulator.hpp>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

/// Something that carries one message after the other: a link, or a ramp.
struct Channel {
  double free = 0;          // from when on
  std::uint8_t colour = 0;  // of the last message
  bool used = false;
};

enum class EventKind : std::uint8_t { ready, depart, hop, arrive, take };

/// The head of a message at a place: before the link `hop` of a segment, or at a core.
struct Event {
  double time = 0;
  std::uint64_t number = 0;  // of equal times the one that was made first
  MessageId message = 0;
  std::uint32_t segment = 0, hop = 0;  // arrive, take: segment is the delivery's number
  EventKind kind = EventKind::ready;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
};

/// A message that stands before a link until `until`.
struct Waiting {
  double until = 0;
  std::uint8_t colour = 0;
};

constexpr std::size_t kColours = 256;  // more than any machine's

class Simulator {
 public:
  Simulator(const Traffic& traffic, const Machine& machine, std::span<float> values)
      : traffic_(traffic),
        machine_(machine),
        values_(values),
        followers_(traffic),
        cores_(static_cast<std::size_t>(traffic.rows() * traffic.columns())),
        ports_(static_cast<std::size_t>(machine.ports)) {}

  Simulation run() {
    prepare();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.kind) {
        case EventKind::ready: work(event); break;
        case EventKind::depart: depart(event); break;
        case EventKind::hop: hop(event); break;
        case EventKind::arrive: arrive(event); break;
        case EventKind::take: take(event); break;
      }
    }
    if (gone_ < traffic_.size()) throw UserError("simulate: " + deadlock_text(traffic_, left_));
    return std::move(result_);
  }

 private:
  void prepare() {
    result_.links.resize(cores_ * 4);
    result_.cores.resize(cores_);
    result_.finished.resize(traffic_.size(), 0);
    links_.resize(cores_ * 4);
    up_.resize(cores_ * ports_);
    down_.resize(cores_ * ports_);
    busy_until_.resize(cores_, 0);
    missing_.resize(traffic_.size());
    ready_.resize(traffic_.size(), 0);
    pace_.resize(traffic_.size(), machine_.link_cycles);
    left_.resize(traffic_.size(), false);
    if (!values_.empty()) sent_.resize(traffic_.size());
    vector_ = cores_ > 0 ? values_.size() / cores_ : 0;
    for (MessageId id = 0; id < traffic_.size(); ++id) {
      missing_[id] = traffic_.needs(id).size();
      if (missing_[id] == 0) push({0, 0, id, 0, 0, EventKind::ready});
    }
  }

  void push(Event event) {
    event.number = pushed_++;
    events_.push(event);
  }

  double count_of(MessageId id) const { return static_cast<double>(traffic_.message(id).count); }

  /// All that a message needs is there.
  void work(const Event& event) {
    const Message& message = traffic_.message(event.message);
    double start = event.time;
    if (message.work > 0) {
      double& busy = busy_until_[message.from];
      busy = std::max(busy, start) + message.work;
      result_.cores[message.from].computing += message.work;
      start = busy;
    }
    push({start, 0, event.message, 0, 0, EventKind::depart});
  }

  void depart(const Event& event) {
    const MessageId id = event.message;
    const Message& message = traffic_.message(id);
    ++gone_;
    left_[id] = true;
    const auto route = traffic_.route(id);
    if (route.empty()) {
      finish(id, message.from, event.time, event.time, 0);
      return;
    }
    const auto port = static_cast<std::size_t>(route.front().direction) % ports_;
    const double start = enter(up_[message.from * ports_ + port], event.time, id);
    result_.cores[message.from].sending += count_of(id) * pace_[id];
    if (!values_.empty()) {
      const float* from = vector_of(message.from) + message.first;
      sent_[id].values.assign(from, from + message.count);
      sent_[id].receivers = traffic_.deliveries(id).size();
    }
    go_on(id, message.from, start + machine_.ramp_cycles, nullptr);
  }

  /// From when on the channel carries the message, which occupies it from then.
  double enter(Channel& channel, double time, MessageId id) const {
    const double start = std::max(time, channel.free);
    channel = {start + count_of(id) * pace_[id], traffic_.message(id).colour, true};
    return start;
  }

  /// The head is at the router of `core`, having come along `from`: copies for its core and for each segment
  /// that starts here.
  void go_on(MessageId id, CoreId core, double time, const Segment* from) {
    const auto route = traffic_.route(id);
    if (from != nullptr) deliver_at(id, core, time, from->direction);
    if (route.size() == 1 && from != nullptr) return;
    for (std::size_t i = 0; i < route.size(); ++i) {
      if (route[i].start != core) continue;
      const bool turns = from != nullptr && from->direction != route[i].direction;
      push({time + (turns ? machine_.turn_cycles : 0), 0, id, static_cast<std::uint32_t>(i), 0,
            EventKind::hop});
    }
  }

  void deliver_at(MessageId id, CoreId core, double time, Direction direction) {
    const auto deliveries = traffic_.deliveries(id);
    const auto at = std::lower_bound(deliveries.begin(), deliveries.end(), core,
                                     [](const Delivery& d, CoreId wanted) { return d.core < wanted; });
    if (at == deliveries.end() || at->core != core) return;
    push({time, 0, id, static_cast<std::uint32_t>(at - deliveries.begin()),
          static_cast<std::uint32_t>(direction), EventKind::arrive});
  }

  void hop(const Event& event) {
    const MessageId id = event.message;
    const Message& message = traffic_.message(id);
    const Segment& segment = traffic_.route(id)[event.segment];
    const Index stride = traffic_.stride(segment.direction);
    const auto core = static_cast<CoreId>(segment.start + event.hop * stride);
    const std::size_t link = core * std::size_t{4} + static_cast<std::size_t>(segment.direction);
    const double start = enter(links_[link], std::max(event.time, held_until(link, message.colour)), id);
    LinkLoad& load = result_.links[link];
    load.wavelets += message.count;
    ++load.messages;
    load.busy += count_of(id) * pace_[id];
    load.most_queued = std::max(load.most_queued, 1);
    if (start > event.time) wait(link, event, start);
    result_.wavelet_hops += message.count;
    const auto next = static_cast<CoreId>(core + stride);
    const double there = start + machine_.hop_cycles;
    if (event.hop + 1 < segment.hops) {
      push({there, 0, id, event.segment, event.hop + 1, EventKind::hop});
      if (traffic_.deliveries(id).size() == 1 && traffic_.route(id).size() == 1) return;
    }
    go_on(id, next, there, &segment);
  }

  void wait(std::size_t link, const Event& event, double start) {
    LinkLoad& load = result_.links[link];
    const Message& message = traffic_.message(event.message);
    load.waited += start - event.time;
    result_.waited += start - event.time;
    std::vector<Waiting>& waiting = waiting_[link];
    std::erase_if(waiting, [&](const Waiting& other) { return other.until <= event.time; });
    waiting.push_back({start, message.colour});
    load.most_queued = std::max(load.most_queued, static_cast<int>(waiting.size()) + 1);
    int colours = 0;
    for (auto it = waiting.begin(); it != waiting.end(); ++it) {
      const bool seen =
          std::any_of(waiting.begin(), it, [&](const Waiting& w) { return w.colour == it->colour; });
      if (!seen) ++colours;
    }
    if (colours > machine_.link_queues) {
      const auto core = static_cast<CoreId>(link / 4);
      constexpr const char* kNames[] = {"east", "west", "south", "north"};
      throw RunError("simulate: the link " + std::string(kNames[link % 4]) + " of core " +
                     text_of(traffic_.place(core)) + " is over its " + std::to_string(machine_.link_queues) +
                     " queues: " + std::to_string(colours) + " colours wait there, the last of them " +
                     traffic_.text_of_message(event.message));
    }
  }

  void arrive(const Event& event) {
    const MessageId id = event.message;
    const Message& message = traffic_.message(id);
    const Delivery& delivery = traffic_.deliveries(id)[event.segment];
    const bool adds = delivery.combine == Combine::add;
    const double pace = adds ? std::max(pace_[id], machine_.add_cycles) : pace_[id];
    Channel& ramp = down_[delivery.core * ports_ + event.hop % ports_];
    // What waits at the router on another colour comes after a round trip over the ramp.
    const double switched =
        ramp.used && ramp.colour != message.colour ? ramp.free + 2 * machine_.ramp_cycles : ramp.free;
    const double start = std::max(event.time, switched);
    const double length = count_of(id) * pace;
    if (start > event.time) hold(id, start + length);
    ramp = {start + length, message.colour, true};
    CoreLoad& load = result_.cores[delivery.core];
    load.receiving += length;
    if (adds) load.computing += count_of(id) * machine_.add_cycles;
    if (!values_.empty()) push({start, 0, id, event.segment, 0, EventKind::take});
    const double head = start + machine_.ramp_cycles + machine_.op_cycles;
    finish(id, delivery.core, head, head + length, pace);
  }

  /// What stands before a ramp holds its colour on the links behind it, since routers keep next to nothing,
  /// until its last wavelet has passed there on the way to come down the ramp at `until`.
  void hold(MessageId id, double until) {
    if (traffic_.deliveries(id).size() > 1) return;  // copies part at routers
    Index left = 0;
    for (const Segment& segment : traffic_.route(id)) left += segment.hops;
    for (const Segment& segment : traffic_.route(id)) {
      const Index stride = traffic_.stride(segment.direction);
      for (Index hop = 0, at = segment.start; hop < segment.hops; ++hop, at += stride, --left) {
        const auto link = static_cast<std::size_t>(at) * 4 + static_cast<std::size_t>(segment.direction);
        double& held = held_[link * kColours + traffic_.message(id).colour];
        held = std::max(held, until - static_cast<double>(left) * machine_.hop_cycles);
      }
    }
  }

  double held_until(std::size_t link, std::uint8_t colour) const {
    if (held_.empty()) return 0;
    const auto at = held_.find(link * kColours + colour);
    return at == held_.end() ? 0 : at->second;
  }

  /// A message has come to a core: its head at one time, all of it at another. Followers there may go.
  void finish(MessageId id, CoreId core, double head, double tail, double pace) {
    result_.finished[id] = std::max(result_.finished[id], tail);
    result_.cycles = std::max(result_.cycles, tail);
    for (const Need& follower : followers_.of(id)) {
      if (traffic_.message(follower.message).from != core) continue;
      // One that follows wavelet by wavelet is no faster, and must not end before this one has.
      if (!follower.whole) pace_[follower.message] = std::max(pace_[follower.message], pace);
      const double last = tail - count_of(follower.message) * pace_[follower.message];
      double& ready = ready_[follower.message];
      ready = std::max(ready, follower.whole ? tail : std::max(head, last));
      if (--missing_[follower.message] == 0) push({ready, 0, follower.message, 0, 0, EventKind::ready});
    }
  }

  float* vector_of(CoreId core) const { return values_.data() + core * vector_; }

  void take(const Event& event) {
    const Delivery& delivery = traffic_.deliveries(event.message)[event.segment];
    Sent& sent = sent_[event.message];
    float* to = vector_of(delivery.core) + traffic_.message(event.message).first;
    if (delivery.combine == Combine::add) {
      for (std::size_t i = 0; i < sent.values.size(); ++i) to[i] += sent.values[i];
    } else {
      std::copy(sent.values.begin(), sent.values.end(), to);
    }
    if (--sent.receivers == 0) std::vector<float>().swap(sent.values);
  }

  struct Sent {
    std::vector<float> values;
    std::size_t receivers = 0;
  };

  const Traffic& traffic_;
  const Machine& machine_;
  std::span<float> values_;
  const Followers followers_;
  const std::size_t cores_, ports_;
  std::size_t vector_ = 0;  // values of one core
  std::vector<Channel> links_, up_, down_;
  std::unordered_map<std::size_t, std::vector<Waiting>> waiting_;  // by link
  std::unordered_map<std::size_t, double> held_;                   // by link and colour
  std::vector<double> busy_until_;                                 // of each core's computing
  std::vector<std::size_t> missing_;
  std::vector<double> ready_;
  std::vector<double> pace_;  // cycles a wavelet, of each message
  std::vector<bool> left_;
  std::vector<Sent> sent_;  // on their way
  std::size_t gone_ = 0;
  std::uint64_t pushed_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  Simulation result_;
};

}  // namespace

double Simulation::busiest_link(const Machine& machine) const {
  Index most = 0;
  for (const LinkLoad& load : links) most = std::max(most, load.wavelets);
  return static_cast<double>(most) * machine.link_cycles;
}

Simulation simulate(const Traffic& traffic, const Machine& machine, std::span<float> values) {
  traffic.check(machine);
  const auto cores = static_cast<std::size_t>(traffic.rows() * traffic.columns());
  const auto vector = static_cast<std::size_t>(traffic.vector_length());
  if (!values.empty() && (cores == 0 || values.size() % cores != 0 || values.size() / cores < vector)) {
    throw UserError("simulate: expected values of at least " + std::to_string(vector) +
                    " wavelets for each of " + std::to_string(cores) + " cores, got " +
                    std::to_string(values.size()));
  }
  return Simulator(traffic, machine, values).run();
}

}  // namespace wafer::inline v0
