// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// The orders in which pipeline stages work on micro-batches. p stages, m micro-batches; F, B, W: durations
/// of forward, input gradient and weight gradient of one micro-batch on one chunk, the same for all. Bubble:
/// what PipelineSchedule::bubble() gives. Holds: the most activations that a stage keeps.
enum class PipelineKind : std::uint8_t {
  /// All forward, then all backward (Huang et al., "GPipe", 2019). Bubble (p-1)(F+B+W). Holds m.
  gpipe,
  /// One forward, one backward in turn (Narayanan et al., "PipeDream", 2019). Bubble (p-1)(F+B+W). Stage s
  /// holds at most p-s.
  one_f_one_b,
  /// 1F1B over `chunks` v parts of the model on each stage, part k on stage k mod p (Narayanan et al.,
  /// "Efficient large-scale language model training", 2021). Bubble (p-1)(F+B+W) of a chunk where p divides
  /// m: a v-th of 1F1B's. A last group of r < p micro-batches stalls: by (v-1)(p-r)(F+B+W) where it is the
  /// only one, and by 2(p-r) F behind others where v = 2 and F = B = W. Stage s holds at most
  /// 2(p-1-s) + (v-1)p + 1 chunks.
  interleaved,
  /// Weight gradients fill the waits (Qi et al., "Zero bubble pipeline parallelism", 2023). Where W <= F and
  /// W <= B, bubble (p-1)(F+B) - min(m-1, p-1) W: for F = B = W and m >= p, a third of 1F1B's. Holds at most
  /// p.
  zb_h1,
  /// The same with more forward work ahead: (p-1)(F+B) - min(m-1, 2p-2) W where W <= F and W <= B; none from
  /// m = 2p-1 on for F = B = W. Holds at most 2p-1.
  zb_h2,
  /// Two chunks on each stage, the model going down the stages and up again (the same paper). Where
  /// F = B = W, no bubble from m = 2p on; below, 2(2p-m) F, or (4(p-1) - 2(m-1)) F up to m = p. Holds at most
  /// 2p chunks: what 1F1B holds.
  zb_v,
  /// Forward only: evaluation. No bubble. Holds one.
  forward_stream,
  /// All cores work on one stage at a time, for all micro-batches, while the weights of the next one come in:
  /// one lane, no bubble. Holds p m.
  weight_stream,
};

/// "gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "forward_stream", "weight_stream".
std::string_view name_of(PipelineKind kind);

enum class PipelineWork : std::uint8_t {
  forward,
  backward,  ///< input and weight gradient at once; the input gradient leaves at its end
  input_gradient,
  weight_gradient
};

/// Of one micro-batch on one part of the model, that is on one chunk; cycles, or any other unit. To compare
/// kinds, divide the durations by the chunks on each stage.
struct PipelineDurations {
  Index forward = 1, input_gradient = 1, weight_gradient = 1;
};

struct PipelineRequest {
  PipelineKind kind = PipelineKind::one_f_one_b;
  Index stages = 1;
  Index micro_batches = 1;
  Index chunks = 2;                            ///< on each stage, where interleaved; 1 is 1F1B
  std::vector<PipelineDurations> durations{};  ///< none: 1, 1, 1; one: of all parts; or one for each part

  /// Parts of the model, in its order: stages times the chunks on each. Throws UserError where that exceeds
  /// 2^63 - 1.
  Index parts() const;
  const PipelineDurations& durations_of(Index part) const;
  /// Throws UserError for a kind that is none, stages, micro-batches or chunks below 1, more than
  /// kMostPipelineParts parts or 2^40 micro-batches, durations that are negative, not one for all or one for
  /// each part, or whose total over all actions exceeds 2^63 - 1.
  void check() const;
};

/// Work on the next micro-batch that has not had this work on this chunk: micro-batches ascend for each, so
/// that weight gradients are summed in one order under every schedule.
struct PipelineAction {
  PipelineWork work = PipelineWork::forward;
  std::int32_t chunk = 0;  ///< of the lane

  bool operator==(const PipelineAction&) const = default;
};

struct PipelineLoop {
  Index count = 0;
  std::vector<PipelineAction> body;
};

/// What does one action at a time: the cores of a stage; or all cores, where weights stream. Its order is
/// rolled: `fill`, then `rounds` times `steady`, then `drain`.
struct PipelineLane {
  std::vector<PipelineLoop> fill, steady, drain;
  Index rounds = 0;
  Index start = 0, end = 0;  ///< of its first and last action
  Index busy = 0;            ///< cycles at work
  Index held = 0;            ///< most activations at one time, one for each micro-batch on each chunk: from
                             ///< forward to the end of backward, or of the weight gradient

  /// Cycles between start and end without work.
  Index idle() const { return end - start - busy; }
};

/// One action of one micro-batch.
struct PipelineEvent {
  Index lane = 0, part = 0, micro_batch = 0;
  PipelineWork work = PipelineWork::forward;
  Index start = 0, end = 0;
};

/// A schedule, as large as its stages are many, whatever the number of micro-batches.
struct PipelineSchedule {
  PipelineRequest request;
  std::vector<PipelineLane> lanes;

  Index lane_of(Index part) const;
  Index part_of(Index lane, Index chunk) const;

  /// Cycles from the first action to the last.
  Index cycles() const;
  /// Cycles that a step costs where steps follow each other, each lane starting its next when it is free: the
  /// longest time from a lane's start to its end.
  Index period() const;
  /// The part of the period that even the busiest lane does not work.
  Index bubble() const;
  /// Of the period; 0 to 1.
  double bubble_share() const;

  /// All actions by a plain list scheduler: each lane's in order, lane after lane. Throws UserError above
  /// kMostUnrolled actions, InternalError where the orders wait for each other.
  std::vector<PipelineEvent> unroll() const;
  static constexpr Index kMostUnrolled = Index{1} << 24;

  /// Unrolls; throws InternalError unless each part does its work once on each micro-batch, ascending, after
  /// what it needs, and times and activations are as said. UserError as unroll().
  void verify() const;
  /// One line for each lane.
  std::string dump() const;
};

/// Orders from rules, exact times from these and the durations, by extrapolation wherever the lanes repeat
/// themselves. Throws UserError as PipelineRequest::check(); CompileError where no end is reached within
/// kMostTimed actions (many lanes, or durations that never repeat).
PipelineSchedule plan_pipeline(const PipelineRequest& request);

inline constexpr Index kMostPipelineParts = 1 << 16;
inline constexpr Index kMostTimed = Index{1} << 27;

}  // namespace wafer::inline v0
