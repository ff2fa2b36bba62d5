// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor.hpp"

#include <wafer/runtime/session.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// So many bytes of data are read where they lie, by all threads at once. A copy by one of them would take
/// longer, and the others would fetch it from that one's caches; for less data, kept calls count more.
inline constexpr Index kLargeFeed = Index{64} << 10;

/// What a session owns; results share it.
struct SessionState {
  /// `fill`: the byte that all arenas are filled with beforehand; for tests, which look for what was never
  /// written.
  SessionState(std::shared_ptr<const ExecutableData> executable, const SessionOptions& options,
               std::optional<std::uint8_t> fill = {});

  std::shared_ptr<const ExecutableData> data;
  RunState run;
  std::unique_ptr<Executor> executor;
  std::vector<std::string> inputs;  // names of all inputs; a handle is an index
  std::vector<std::vector<int>>
      feed_of_input;                        // by program and input: index of the program's feeds, -1 for none
  std::vector<std::vector<bool>> lendable;  // by program and feed: ops alone read it
  std::vector<const Feed*> fed;             // scratch of a step: by feed of the program
  std::uint64_t generation = 0;             // counts steps, failed ones too
  std::atomic<bool> busy{false};

  std::size_t program_index(std::string_view name) const;
  const VariableRecord& variable(std::string_view path) const;
  Shape shape_of(std::uint32_t buffer) const;
  /// Copies a variable between its pieces in all blocks and a dense buffer.
  void read(std::uint32_t buffer, std::byte* dense) const;
  void write(std::uint32_t buffer, const std::byte* dense);
  void take_feeds(std::size_t program, std::span<const Feed> feeds);
  /// Whether a buffer outside of the blocks has gaps under the run-time extents: memory is laid out for the
  /// greatest ones, so that a shorter inner dimension leaves some.
  bool has_gaps(std::uint32_t buffer) const;
  /// Closes the gaps in what a step fetched: results are dense under the run-time extents.
  void settle_fetches(std::size_t program);
};

/// Marks the session as in use for as long as it lives; throws RunError where it is already.
class BusyGuard {
 public:
  explicit BusyGuard(SessionState& state);
  ~BusyGuard();
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;

 private:
  SessionState& state_;
};

}  // namespace wafer::inline v0
