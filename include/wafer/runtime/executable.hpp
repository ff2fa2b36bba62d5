// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace wafer::inline v0 {

struct ExecutableData;

/// What was decided before the first step. A handle that shares ownership: `compile(...).plan()` does not
/// dangle.
class Plan {
 public:
  explicit Plan(std::shared_ptr<const ExecutableData> data) : data_(std::move(data)) {}
  Plan(const Plan&) = default;  // and no moves: what was moved from is valid
  Plan& operator=(const Plan&) = default;

  Index blocks() const;         ///< blocks that compute
  Index sram_bytes() const;     ///< planned bytes of each block's arena; 0 on a host
  Index dram_bytes() const;     ///< planned bytes outside of the blocks
  Index scratch_bytes() const;  ///< further bytes for each worker thread
  Index workers() const;        ///< threads that tiles were planned for
  /// Seconds that the cost model expects of a step on `workers()` threads: good to 15 % or so for the
  /// networks of `bench_predict` on a quiet host that was measured (`calibrate`), to a quarter for others; a
  /// mere rank among plans elsewhere. Throws UserError for another name.
  double predicted_seconds(std::string_view step = "") const;

  /// A page of text: blocks, bytes, messages, predicted time.
  std::string text() const;
  /// One stage in full, as deterministic text: "step", "partition", "placement", "tiling", "communication",
  /// "fusion", "schedule", "layout", "memory". Throws UserError for another name.
  std::string dump(std::string_view stage) const;

 private:
  std::shared_ptr<const ExecutableData> data_;
};
std::ostream& operator<<(std::ostream& out, const Plan& plan);

/// A compiled set of named steps: immutable, shared by any number of sessions and threads.
class Executable {
 public:
  explicit Executable(std::shared_ptr<const ExecutableData> data) : data_(std::move(data)) {}
  Executable(const Executable&) = default;  // and no moves: what was moved from is valid
  Executable& operator=(const Executable&) = default;
  Plan plan() const { return Plan(data_); }
  const std::shared_ptr<const ExecutableData>& data() const { return data_; }

 private:
  std::shared_ptr<const ExecutableData> data_;
};

}  // namespace wafer::inline v0
