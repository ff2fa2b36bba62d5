// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/collective_builder.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/collectives.hpp>

#include <algorithm>

namespace wafer::inline v0 {

bool is_rooted(CollectiveKind kind) {
  return kind != CollectiveKind::all_reduce && kind != CollectiveKind::reduce_scatter &&
         kind != CollectiveKind::all_gather;
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::send: return "send";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::gather: return "gather";
  }
  return "?";
}

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::flood: return "flood";
    case Algorithm::trees: return "trees";
    case Algorithm::snake: return "snake";
    case Algorithm::ring: return "ring";
    case Algorithm::rings: return "rings";
    case Algorithm::buckets: return "buckets";
    case Algorithm::direct: return "direct";
  }
  return "?";
}

std::string text_of(const Method& method, const CoreArea& area) {
  if (method.algorithm != Algorithm::trees) return std::string(name_of(method.algorithm));
  std::string text = method.middle ? "middle_" : "";
  if (area.columns > 1 || area.rows == 1) text += name_of(method.along_rows);
  if (area.columns > 1 && area.rows > 1) text += "_then_";
  if (area.rows > 1) text += name_of(method.along_columns);
  return text;
}

Core root_of(const CollectiveRequest& request, const Method& method) {
  const CoreArea& area = request.area;
  if (method.middle) return {area.row + (area.rows - 1) / 2, area.column + (area.columns - 1) / 2};
  return is_rooted(request.kind) ? request.root : Core{area.row, area.column};
}

WaveletRange part_of(WaveletRange range, Index i, Index n) {
  if (i < 0 || i >= n) {
    throw UserError("expected a part of at least one, of that number, got part " + std::to_string(i) +
                    " of " + std::to_string(n));
  }
  const Index size = range.count / n, longer = range.count % n;
  return {range.first + i * size + std::min(i, longer), size + (i < longer ? 1 : 0)};
}

WaveletRange piece_of(const CollectiveRequest& request, Core core) {
  const WaveletRange column =
      part_of({0, request.wavelets}, core.column - request.area.column, request.area.columns);
  return part_of(column, core.row - request.area.row, request.area.rows);
}

namespace {

/// Cores that the request needs: those of its area, or those that its one message passes.
std::vector<CoreArea> cores_of(const CollectiveRequest& request) {
  if (request.kind != CollectiveKind::send) return {request.area};
  const Core from = request.root, to = request.to;
  return {{from.row, std::min(from.column, to.column), 1, std::abs(from.column - to.column) + 1},
          {std::min(from.row, to.row), to.column, std::abs(from.row - to.row) + 1, 1}};
}

void refuse_faults(const CollectiveRequest& request, const Machine& machine) {
  for (const CoreArea& needed : cores_of(request)) {
    for (const CoreArea& fault : machine.faults) {
      const Core core{std::max(fault.row, needed.row), std::max(fault.column, needed.column)};
      if (!fault.contains(core) || !needed.contains(core)) continue;
      throw CompileError(std::string(name_of(request.kind)) + ": core " + text_of(core) + " of its " +
                         (request.kind == CollectiveKind::send ? "route" : "area") + " is faulty");
    }
  }
}

bool can_do(const CollectiveRequest& request, const Method& method) {
  const auto methods = methods_for(request);
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

}  // namespace

void check(const CollectiveRequest& request, const Machine& machine) {
  machine.check();
  if (request.kind > CollectiveKind::gather) throw UserError("collective: no such kind");
  const std::string name(name_of(request.kind));
  const CoreArea& area = request.area;
  if (request.wavelets < 1)
    throw UserError(name + ": expected at least one wavelet, got " + std::to_string(request.wavelets));
  const bool inside = area.row >= 0 && area.column >= 0 && area.rows >= 1 && area.columns >= 1 &&
                      area.row < machine.rows && area.column < machine.columns &&
                      area.rows <= machine.rows - area.row && area.columns <= machine.columns - area.column;
  if (!inside) {
    throw UserError(name + ": expected an area of at least one core on the mesh of " +
                    std::to_string(machine.rows) + " x " + std::to_string(machine.columns) + ", got " +
                    text_of(area));
  }
  if (is_rooted(request.kind) && !area.contains(request.root)) {
    throw UserError(name + ": expected a root among " + text_of(area) + ", got core " +
                    text_of(request.root));
  }
  if (request.kind == CollectiveKind::send && (!area.contains(request.to) || request.to == request.root)) {
    throw UserError("send: expected another core than " + text_of(request.root) + " of " + text_of(area) +
                    ", got core " + text_of(request.to));
  }
  refuse_faults(request, machine);
}

void check_method(const CollectiveRequest& request, const Method& method, const Machine& machine) {
  check(request, machine);
  if (can_do(request, method)) return;
  const CoreArea& area = request.area;
  CollectiveRequest even = request;
  even.area = {area.row, area.column, 2, 2};
  const bool odd = area.rows > 1 && area.columns > 1 && can_do(even, method);
  throw CompileError(std::string(name_of(request.kind)) + ": no way to do it by " + text_of(method, area) +
                     " on " + text_of(area) + (odd ? " (needs an even side)" : ""));
}

namespace {

/// Rings send as many messages as their cores squared, of each phase.
void refuse_long_rings(const CollectiveRequest& request, const Method& method) {
  constexpr double kMostMessages = 1 << 24;
  const auto rows = static_cast<double>(request.area.rows),
             columns = static_cast<double>(request.area.columns);
  double messages = 0;
  switch (method.algorithm) {
    case Algorithm::ring:
    case Algorithm::rings: messages = rows * columns * (rows * columns - 1); break;
    case Algorithm::buckets: messages = rows * columns * (rows + columns - 2); break;
    default: return;
  }
  if (messages <= kMostMessages) return;
  throw CompileError(std::string(name_of(request.kind)) + ": by " + text_of(method, request.area) + " on " +
                     text_of(request.area) + " it is more than 2^24 messages a phase");
}

/// Chooses phases and hands them to a builder.
class Planner {
 public:
  Planner(const CollectiveRequest& request, const Method& method, const Machine& machine)
      : request_(request), method_(method), machine_(machine), builder_(request, method, machine) {}

  Collective run() {
    const Core root = root_of(request_, method_);
    switch (request_.kind) {
      case CollectiveKind::send:
        builder_.add_send(root, request_.to);
        builder_.end_phase("send");
        break;
      case CollectiveKind::broadcast: flood(root); break;
      case CollectiveKind::reduce: reduce(root); break;
      case CollectiveKind::scatter: scatter(root); break;
      case CollectiveKind::gather: gather(root); break;
      case CollectiveKind::all_reduce: all_reduce(root); break;
      case CollectiveKind::reduce_scatter:
        if (method_.algorithm == Algorithm::trees) {
          reduce(root);
          scatter(root);
        } else {
          rings_scatter();
        }
        break;
      case CollectiveKind::all_gather:
        if (method_.algorithm == Algorithm::direct) {
          gather(root);
          flood(root);
        } else {
          rings_gather();
        }
        break;
    }
    return builder_.take();
  }

 private:
  static constexpr int kColumnColour = 2;  // the root's row receives on colours 0 and 1 alone
  static constexpr int kFloodColour = 5;

  void flood(Core root) {
    builder_.add_flood(root, request_.kind == CollectiveKind::broadcast ? 0 : kFloodColour);
    builder_.end_phase("flood");
  }

  void scatter(Core root) {
    builder_.add_scatter(root);
    builder_.end_phase("scatter");
  }

  void gather(Core root) {
    builder_.add_gather(root);
    builder_.end_phase("gather");
  }

  void reduce(Core root) {
    const CoreArea& area = request_.area;
    if (method_.algorithm == Algorithm::snake) {
      snake();
      return;
    }
    if (area.columns > 1) {
      const Index before = root.column - area.column, after = area.columns - 1 - before;
      const GeneratedTrees sides = sides_of(before, after, method_.along_rows);
      for (Index row = area.row; row < area.row + area.rows; ++row)
        sum({row, root.column}, before, after, Direction::west, sides, 0);
      builder_.end_phase("sum along rows");
    }
    if (area.rows > 1) {
      const Index before = root.row - area.row, after = area.rows - 1 - before;
      const GeneratedTrees sides = sides_of(before, after, method_.along_columns);
      sum(root, before, after, Direction::north, sides, area.columns > 1 ? kColumnColour : 0);
      builder_.end_phase("sum along the column");
    }
  }

  GeneratedTrees sides_of(Index before, Index after, LineTree tree) const {
    if (tree == LineTree::automatic || tree == LineTree::streamed)
      return generate_trees(tree, before + 1 + after, before, request_.wavelets, machine_);
    return {line_tree(tree, before + 1), line_tree(tree, after + 1), 0};
  }

  void sum(Core root, Index before, Index after, Direction backward, const GeneratedTrees& sides,
           int colour) {
    const CoreId id = builder_.traffic().id(root);
    builder_.add_tree({id, before + 1, backward}, sides.before, colour);
    builder_.add_tree({id, after + 1, opposite(backward)}, sides.after, colour);
  }

  void snake() {
    const CoreArea& area = request_.area;
    std::vector<CoreId> cores;
    for (Index row = 0; row < area.rows; ++row) {
      for (Index i = 0; i < area.columns; ++i) {
        const Index column = row % 2 == 0 ? i : area.columns - 1 - i;
        cores.push_back(builder_.traffic().id({area.row + row, area.column + column}));
      }
    }
    builder_.add_chain(cores);
    builder_.end_phase("snake");
  }

  void all_reduce(Core root) {
    if (method_.algorithm == Algorithm::trees || method_.algorithm == Algorithm::snake) {
      reduce(root);
      flood(root);
    } else {
      rings_scatter();
      rings_gather();
    }
  }

  /// The rings of one phase.
  std::vector<Ring> line_rings(bool along_rows) const {
    const CoreArea& area = request_.area;
    std::vector<Ring> rings;
    for (Index i = 0; i < (along_rows ? area.rows : area.columns); ++i) {
      const Core first = along_rows ? Core{area.row + i, area.column} : Core{area.row, area.column + i};
      rings.push_back(interleaved_ring(builder_.traffic(),
                                       {builder_.traffic().id(first), along_rows ? area.columns : area.rows,
                                        along_rows ? Direction::east : Direction::south}));
      for (const CoreId id : rings.back().cores) {
        const Core core = builder_.traffic().place(id);
        rings.back().pieces.push_back(
            along_rows ? part_of({0, request_.wavelets}, core.column - area.column, area.columns)
                       : piece_of(request_, core));
      }
      if (!along_rows) {
        for (std::uint8_t& colour : rings.back().colours) colour = static_cast<std::uint8_t>(colour + 4);
      }
    }
    return rings;
  }

  std::vector<Ring> rectangle_rings() const {
    Ring ring = hamiltonian_ring(builder_.traffic(), request_.area);
    const auto size = static_cast<Index>(ring.cores.size());
    if (method_.algorithm == Algorithm::ring) {
      for (const CoreId id : ring.cores)
        ring.pieces.push_back(piece_of(request_, builder_.traffic().place(id)));
      return {ring};
    }
    Ring back = ring;
    std::reverse(back.cores.begin(), back.cores.end());
    const WaveletRange vector{0, request_.wavelets};
    for (Index i = 0; i < size; ++i) {
      ring.pieces.push_back(part_of(part_of(vector, 0, 2), i, size));
      back.pieces.push_back(part_of(part_of(vector, 1, 2), i, size));
      back.colours[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % 2 + 2);
    }
    return {ring, back};
  }

  bool on_line() const { return request_.area.rows == 1 || request_.area.columns == 1; }

  void rings_scatter() {
    if (method_.algorithm != Algorithm::buckets && !on_line()) {
      scatter_along(rectangle_rings(), "ring scatter");
      return;
    }
    if (request_.area.columns > 1) scatter_along(line_rings(true), "ring scatter along rows");
    if (request_.area.rows > 1) scatter_along(line_rings(false), "ring scatter along columns");
  }

  void rings_gather() {
    if (method_.algorithm != Algorithm::buckets && !on_line()) {
      gather_along(rectangle_rings(), "ring gather");
      return;
    }
    if (request_.area.rows > 1) gather_along(line_rings(false), "ring gather along columns");
    if (request_.area.columns > 1) gather_along(line_rings(true), "ring gather along rows");
  }

  void scatter_along(const std::vector<Ring>& rings, std::string_view name) {
    for (const Ring& ring : rings) builder_.add_ring_scatter(ring);
    builder_.end_phase(name);
  }

  void gather_along(const std::vector<Ring>& rings, std::string_view name) {
    for (const Ring& ring : rings) builder_.add_ring_gather(ring);
    builder_.end_phase(name);
  }

  const CollectiveRequest& request_;
  const Method& method_;
  const Machine& machine_;
  CollectiveBuilder builder_;
};

}  // namespace

Collective build(const CollectiveRequest& request, const Method& method, const Machine& machine) {
  check_method(request, method, machine);
  refuse_long_rings(request, method);
  return Planner(request, method, machine).run();
}

CollectiveRequest send_request(Core from, Core to, Index wavelets) {
  for (const Core core : {from, to}) {
    if (core.row < 0 || core.column < 0 || core.row >= kMostMeshCores || core.column >= kMostMeshCores)
      throw UserError("send: expected cores of a mesh, got core " + text_of(core));
  }
  const CoreArea area{std::min(from.row, to.row), std::min(from.column, to.column),
                      std::abs(from.row - to.row) + 1, std::abs(from.column - to.column) + 1};
  return {CollectiveKind::send, area, wavelets, from, to};
}

}  // namespace wafer::inline v0
