// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>
#include <utility>

namespace wafer::inline v0 {

std::vector<std::uint8_t> colours_of(const ReduceTree& tree) {
  tree.verify();
  const auto size = tree.parents.size();
  std::vector<std::uint8_t> colours(size, 2);
  std::vector<bool> leaf(size, true);
  for (std::size_t i = 1; i < size; ++i) leaf[static_cast<std::size_t>(tree.parents[i])] = false;
  std::vector<std::size_t> last_child(size, 0);
  for (std::size_t i = 1; i < size; ++i) {
    const auto parent = static_cast<std::size_t>(tree.parents[i]);
    const std::size_t before = std::exchange(last_child[parent], i);
    const int own = colours[parent];
    int colour = (own + 1) % 3;
    if (before != 0) colour = leaf[before] && leaf[i] ? colours[before] : 3 - own - colours[before];
    colours[i] = static_cast<std::uint8_t>(colour);
  }
  return colours;
}

namespace {

struct Arrival {
  double time = 0;  // of the head, at the parent's router
  std::uint8_t colour = 0;
};

class TreeTiming {
 public:
  TreeTiming(Index wavelets, const Machine& machine)
      : wavelets_(static_cast<double>(wavelets)), machine_(machine) {}

  /// Adds what arrives at the root from one side.
  void add_side(const ReduceTree& tree) {
    const std::vector<std::uint8_t> colours = colours_of(tree);
    std::vector<std::vector<Arrival>> arrivals(tree.parents.size());
    for (std::size_t i = tree.parents.size() - 1; i > 0; --i) {
      const double leaves = arrivals[i].empty() ? 0 : receive(arrivals[i]).leaves;
      const auto parent = static_cast<std::size_t>(tree.parents[i]);
      const double way = machine_.ramp_cycles + static_cast<double>(i - parent) * machine_.hop_cycles;
      arrivals[parent].push_back({leaves + way, colours[i]});
    }
    at_root_.insert(at_root_.end(), arrivals[0].begin(), arrivals[0].end());
  }

  double end() { return at_root_.empty() ? 0 : receive(at_root_).ends; }

 private:
  struct Received {
    double leaves = 0;  // when the head of the sum may leave
    double ends = 0;
  };

  /// One ramp takes one message after the other, in the order in which they come.
  Received receive(std::vector<Arrival>& arrivals) const {
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
    const double length = wavelets_ * machine_.pace();
    double start = 0;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const bool switches = i > 0 && arrivals[i - 1].colour != arrivals[i].colour;
      const double free = i == 0 ? 0 : start + length + (switches ? 2 * machine_.ramp_cycles : 0);
      start = std::max(arrivals[i].time, free);
    }
    const double head = start + machine_.ramp_cycles + machine_.op_cycles;
    return {head, head + length};
  }

  double wavelets_;
  const Machine& machine_;
  std::vector<Arrival> at_root_;
};

}  // namespace

double streamed_cycles(const ReduceTree& before, const ReduceTree& after, Index wavelets,
                       const Machine& machine) {
  machine.check();
  if (wavelets < 1) throw UserError("reduce: expected at least one wavelet, got " + std::to_string(wavelets));
  TreeTiming timing(wavelets, machine);
  timing.add_side(before);
  timing.add_side(after);
  return timing.end();
}

}  // namespace wafer::inline v0
