// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/traffic.hpp>

#include <algorithm>

namespace wafer::inline v0 {

Followers::Followers(const Traffic& traffic) : first_(traffic.size() + 1, 0) {
  for (MessageId id = 0; id < traffic.size(); ++id) {
    for (const Need& need : traffic.needs(id)) {
      if (need.message >= traffic.size()) {
        throw UserError("traffic: " + traffic.text_of_message(id) + ": needs message " +
                        std::to_string(need.message) + " of none");
      }
      ++first_[need.message + std::size_t{1}];
    }
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  followers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (MessageId id = 0; id < traffic.size(); ++id) {
    for (const Need& need : traffic.needs(id)) followers_[next[need.message]++] = {id, need.whole};
  }
}

std::string deadlock_text(const Traffic& traffic, const std::vector<bool>& gone) {
  if (gone.size() != traffic.size()) throw InternalError("a deadlock of other messages than there are");
  // From any message that stays, along what it waits for, until one comes again.
  MessageId at = 0;
  while (at < traffic.size() && gone[at]) ++at;
  if (at == traffic.size()) return "no deadlock";
  std::vector<MessageId> path;
  std::vector<bool> met(traffic.size(), false);
  while (!met[at]) {
    met[at] = true;
    path.push_back(at);
    for (const Need& need : traffic.needs(at)) {
      if (!gone[need.message]) {
        at = need.message;
        break;
      }
    }
  }
  std::string text = "deadlock: ";
  constexpr int kShown = 8;
  int shown = 0;
  for (auto it = std::find(path.begin(), path.end(), at); it != path.end() && shown < kShown; ++it, ++shown)
    text += traffic.text_of_message(*it) + ", waits for ";
  return text + (shown == kShown ? "others, …" : traffic.text_of_message(at));
}

std::vector<MessageId> order_of(const Traffic& traffic) {
  const Followers followers(traffic);
  std::vector<std::size_t> missing(traffic.size());
  std::vector<MessageId> order;
  order.reserve(traffic.size());
  for (MessageId id = 0; id < traffic.size(); ++id) {
    missing[id] = traffic.needs(id).size();
    if (missing[id] == 0) order.push_back(id);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const Need& follower : followers.of(order[next])) {
      if (--missing[follower.message] == 0) order.push_back(follower.message);
    }
  }
  if (order.size() < traffic.size()) {
    std::vector<bool> gone(traffic.size(), false);
    for (const MessageId id : order) gone[id] = true;
    throw UserError("traffic: " + deadlock_text(traffic, gone));
  }
  return order;
}

}  // namespace wafer::inline v0
