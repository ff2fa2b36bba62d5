// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/fabric/traffic.hpp>

#include <span>
#include <vector>

namespace wafer::inline v0 {

/// What one link carried.
struct LinkLoad {
  Index wavelets = 0;
  Index messages = 0;
  double waited = 0;    ///< cycles that heads of messages stood before it, all together
  double busy = 0;      ///< cycles that it was taken by passing messages
  int most_queued = 0;  ///< messages at one time, the one that passes included
};

struct CoreLoad {
  double sending = 0, receiving = 0;  ///< cycles that its ramps carried wavelets, all ports together
  double computing = 0;               ///< cycles of work and of adding
};

/// Modelled cycles, and where they went.
struct Simulation {
  double cycles = 0;  ///< until the last wavelet has come to its core and the last work is done
  Index wavelet_hops = 0;
  double waited = 0;            ///< of all links
  std::vector<LinkLoad> links;  ///< 4 * core + direction
  std::vector<CoreLoad> cores;
  std::vector<double> finished;  ///< of each message: when its last receiver has all of it

  const LinkLoad& link(CoreId core, Direction direction) const {
    return links[core * std::size_t{4} + static_cast<std::size_t>(direction)];
  }
  /// Cycles that the busiest link carried wavelets, on this machine.
  double busiest_link(const Machine& machine) const;
};

/// Runs messages on a mesh, event by event: the head of a message comes to a link, waits until those that
/// came before have passed wholly, and draws its wavelets behind it. The same input gives the same result
/// everywhere. docs/fabric_model.md says what is modelled.
///
/// Where `values` is not empty it holds one vector for each core of the traffic's mesh, one after the other,
/// all of the traffic's vector_length() or longer; what is sent is read when the head leaves the core.
///
/// Throws UserError for what Traffic::check finds, values of another size, and messages that wait for each
/// other (a deadlock, with its cores and steps); RunError where more colours wait at a link than it has
/// queues.
Simulation simulate(const Traffic& traffic, const Machine& machine, std::span<float> values = {});

}  // namespace wafer::inline v0
