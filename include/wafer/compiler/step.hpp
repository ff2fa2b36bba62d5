// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph_data.hpp>
#include <wafer/optim/request.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// A request and the name that it runs by.
struct NamedRequest {
  std::string name{};
  Request request{};
};

/// When an op of a step runs: once before, once for each micro-batch, once after, or at the end, where
/// nothing can fail any more.
enum class Region : std::uint8_t { prologue, body, epilogue, commit };
inline constexpr int kRegions = 4;
std::string_view name_of(Region region);

/// One named step, flat: which ops run, in the order of the walk (from the fetched results, then the
/// assignments, operands left to right), sorted by region.
struct Program {
  struct Fetch {
    std::string name;
    ValueId value = kNone;
  };
  struct Assignment {
    ValueId variable = kNone, value = kNone;
    bool in_place = false;  ///< an op of the commit region writes the variable itself; otherwise it is copied
  };
  std::string name;
  std::vector<NodeId> order;
  std::vector<Region> region;  ///< of each op in `order`
  std::vector<ValueId>
      sources;  ///< inputs, variables and constants that the ops or fetches read, by first use
  std::vector<Fetch> fetches;
  std::vector<Assignment> assignments;
  int batch_axis = -1;  ///< the named axis that micro-batches cut: the first one of the inputs in use
  NodeId whole_batch =
      kNone;  ///< an op that forbids micro-batches: it needs the batch in one piece, or a statistic of it
};

/// All named steps of an executable, on one graph: a snapshot of the user's, extended by gradients, clipping,
/// schedules and updates.
struct Step {
  std::shared_ptr<GraphData> graph;
  std::vector<Program> programs;

  /// Throws InternalError where an op runs before what it reads, regions are out of order, or a variable is
  /// written twice.
  void verify() const;
  /// The ops of each step in order, with types and layer paths.
  std::string dump() const;
};

/// Takes a snapshot of the requests' graph and derives everything that a step does. Throws UserError for
/// requests that contradict each other, and for an op without a gradient on the way from a loss to a
/// parameter.
Step derive_step(std::span<const NamedRequest> requests);

/// Gradients of an f32 scalar for some values of the same graph, as new ops of it; empty where none flows. A
/// value used k times gets k contributions, added in order of use. Throws UserError for an op without a
/// gradient.
Tensors gradients_of(const Tensor& loss, std::span<const Tensor> values);

/// Where no gradient flows to any of `values`, which the loss depends on: the op that passes none on, and the
/// way through it, for messages. Adds ops as gradients_of does.
std::string stop_of_gradients(const Tensor& loss, std::span<const Tensor> values);

/// Nodes that `roots` depend on, producers first, operands left to right.
std::vector<NodeId> walk(const GraphData& graph, std::span<const ValueId> roots);

}  // namespace wafer::inline v0
