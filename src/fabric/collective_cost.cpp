// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>
#include <limits>

namespace wafer::inline v0 {

namespace {

double to_double(Index value) { return static_cast<double>(value); }

Index ceil_div(Index a, Index b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Of a line with the root at its end, for each wavelet: closed forms [H].
TreeTerms closed_terms(Index cores, LineTree tree) {
  TreeTerms terms;
  const Index links = cores - 1;
  switch (tree) {
    case LineTree::chain: return {1, links, links};
    case LineTree::tree:
      for (Index way = 1; way < cores; way *= 2) {
        terms.hops += way * ((links - way) / (2 * way) + 1);
        ++terms.arity;
        if (2 * way <= cores) ++terms.depth;
      }
      return terms;
    case LineTree::two_phase: {
      const Index size = two_phase_group(cores), groups = ceil_div(cores, size);
      terms.arity = size > 1 && groups > 1 ? 2 : 1;
      terms.hops = cores - groups + (groups - 1) * size;
      terms.depth = size - 1 + groups - 1;
      return terms;
    }
    case LineTree::star:
    case LineTree::automatic:
    case LineTree::streamed: break;
  }
  throw InternalError("a tree without closed terms");
}

/// A ring of n >= 1 cores through which each piece of at most `piece` wavelets goes once.
double ring_cycles(Index n, Index hops_a_step, Index piece, double pace, const Machine& machine) {
  if (n == 1) return 0;
  // Of an interleaved ring of a line, every way but one has two links; the two at the ends have one.
  const double hops = to_double(hops_a_step * (n - 1) - (hops_a_step - 1));
  return to_double(n - 1) * (to_double(piece) * pace + machine.stage_cycles()) + hops * machine.hop_cycles;
}

/// Routes of closed forms, phase by phase.
class Model {
 public:
  Model(const CollectiveRequest& request, const Method& method, const Machine& machine)
      : request_(request), method_(method), machine_(machine), area_(request.area) {}

  double cycles() const {
    const Core root = root_of(request_, method_);
    switch (request_.kind) {
      case CollectiveKind::send:
        return flood_along(std::abs(request_.to.column - root.column), std::abs(request_.to.row - root.row));
      case CollectiveKind::broadcast: return flood(root);
      case CollectiveKind::reduce: return reduce(root);
      case CollectiveKind::scatter: return pieces(root, true);
      case CollectiveKind::gather: return pieces(root, false);
      case CollectiveKind::all_reduce:
        if (method_.algorithm == Algorithm::trees || method_.algorithm == Algorithm::snake)
          return reduce(root) + flood(root);
        return rings(machine_.pace()) + rings(machine_.link_cycles);
      case CollectiveKind::reduce_scatter:
        return method_.algorithm == Algorithm::trees ? reduce(root) + pieces(root, true)
                                                     : rings(machine_.pace());
      case CollectiveKind::all_gather:
        return method_.algorithm == Algorithm::direct ? pieces(root, false) + flood(root)
                                                      : rings(machine_.link_cycles);
    }
    return 0;
  }

 private:
  double flood(Core root) const {
    return flood_along(std::max(root.column - area_.column, area_.column + area_.columns - 1 - root.column),
                       std::max(root.row - area_.row, area_.row + area_.rows - 1 - root.row));
  }

  double flood_along(Index columns, Index rows) const {
    if (area_.cores() == 1) return 0;
    return to_double(request_.wavelets) * machine_.link_cycles +
           to_double(columns + rows) * machine_.hop_cycles +
           (columns > 0 && rows > 0 ? machine_.turn_cycles : 0) + machine_.stage_cycles();
  }

  double reduce(Core root) const {
    if (method_.algorithm == Algorithm::snake)
      return reduce_cycles(area_.cores(), 0, LineTree::chain, request_.wavelets, machine_);
    return reduce_cycles(area_.columns, root.column - area_.column, method_.along_rows, request_.wavelets,
                         machine_) +
           reduce_cycles(area_.rows, root.row - area_.row, method_.along_columns, request_.wavelets,
                         machine_);
  }

  /// One piece for each core but the root over the root's ramp: scattered, the furthest goes first; gathered,
  /// they come in the order in which their heads can be there. Piece by piece of distance and bend.
  double pieces(Core root, bool scattered) const {
    struct Group {
      double head = 0;  // on its way, without ramps
      Index wavelets = 0;
    };
    std::vector<Group> straight(static_cast<std::size_t>(area_.rows + area_.columns)), bent(straight.size());
    for (Index row = area_.row; row < area_.row + area_.rows; ++row) {
      for (Index column = area_.column; column < area_.column + area_.columns; ++column) {
        const Index down = std::abs(row - root.row), along = std::abs(column - root.column);
        if (down + along == 0) continue;
        Group& group = (down > 0 && along > 0 ? bent : straight)[static_cast<std::size_t>(down + along)];
        group.wavelets += piece_of(request_, {row, column}).count;
        group.head = to_double(down + along) * machine_.hop_cycles +
                     (down > 0 && along > 0 ? machine_.turn_cycles : 0);
      }
    }
    straight.insert(straight.end(), bent.begin(), bent.end());
    std::erase_if(straight, [](const Group& group) { return group.wavelets == 0; });
    std::stable_sort(straight.begin(), straight.end(), [&](const Group& a, const Group& b) {
      return scattered ? a.head > b.head : a.head < b.head;
    });
    double cycles = 0, sent = 0;
    for (const Group& group : straight) {
      const double length = to_double(group.wavelets) * machine_.link_cycles;
      sent += length;
      cycles = scattered ? std::max(cycles, sent + group.head) : std::max(cycles, group.head) + length;
    }
    return cycles > 0 ? cycles + machine_.stage_cycles() : 0;
  }

  double rings(double pace) const {
    const Index columns = area_.columns, rows = area_.rows, wavelets = request_.wavelets;
    const bool line = columns == 1 || rows == 1;
    if (method_.algorithm == Algorithm::buckets || line) {
      const Index piece = ceil_div(wavelets, columns);
      return ring_cycles(columns, 2, piece, pace, machine_) +
             ring_cycles(rows, 2, ceil_div(piece, rows), pace, machine_);
    }
    const Index cores = area_.cores();
    if (method_.algorithm == Algorithm::ring)
      return ring_cycles(cores, 1, ceil_div(ceil_div(wavelets, columns), rows), pace, machine_);
    const Index half = ceil_div(wavelets, 2), piece = ceil_div(half, cores);
    const double alone = ring_cycles(cores, 1, piece, pace, machine_);
    if (machine_.ports > 1 || wavelets < 2) return alone;
    // Both rings share a core's ramps, which change from one to the other twice in each step that has both.
    const double both = to_double(cores - 1) * 2 * (to_double(piece) * pace + 2 * machine_.ramp_cycles);
    const double met = std::min(1.0, to_double(half) / to_double(cores));
    return both > alone ? alone + met * (both - alone) : alone;
  }

  const CollectiveRequest& request_;
  const Method& method_;
  const Machine& machine_;
  const CoreArea& area_;
};

bool has_even_side(const CoreArea& area) { return area.rows % 2 == 0 || area.columns % 2 == 0; }

}  // namespace

double reduce_cycles(Index cores, Index root, LineTree tree, Index wavelets, const Machine& machine) {
  machine.check();
  if (tree > LineTree::streamed) throw UserError("reduce: no such tree");
  if (cores < 1 || cores > kMostMeshCores || root < 0 || root >= cores || wavelets < 1) {
    throw UserError(
        "reduce: expected 1 to 2^24 cores, at least one wavelet and a root among the cores, got " +
        std::to_string(cores) + " cores, " + std::to_string(wavelets) + " wavelets, root " +
        std::to_string(root));
  }
  if (cores == 1) return 0;
  const Index before = root, after = cores - 1 - root;
  const double vector = to_double(wavelets) * machine.pace();
  // The root takes what comes as one stream, of which the first has come one hop [H, and the hop].
  const double star = vector * to_double(cores - 1) + machine.hop_cycles + machine.stage_cycles();
  if (tree == LineTree::star) return star;
  const bool between = before > 0 && after > 0;
  if (tree == LineTree::streamed || (tree == LineTree::automatic && between))
    return generate_trees(tree, cores, root, wavelets, machine).cycles;
  if (tree == LineTree::automatic) {
    const TreeChoice choice = choose_limits(cores, wavelets, machine);
    return choice.limits.depth == 1 ? star : choice.cycles;
  }
  if (between)
    return streamed_cycles(line_tree(tree, before + 1), line_tree(tree, after + 1), wavelets, machine);
  const TreeTerms terms = closed_terms(cores, tree);
  const double link =
      vector * to_double(terms.hops) / to_double(cores - 1) + to_double(cores - 1) * machine.hop_cycles;
  return std::max(vector * to_double(terms.arity), link) + machine.stage_cycles() * to_double(terms.depth);
}

double cycles_of(const CostTerms& terms, const Machine& machine) {
  if (terms.links == 0) return 0;
  const double way =
      to_double(terms.length) * machine.hop_cycles + to_double(terms.turns) * machine.turn_cycles;
  const double link = to_double(terms.hops) * machine.pace() / to_double(terms.links);
  return std::max(to_double(terms.wavelets) * machine.pace(), link + way) +
         machine.stage_cycles() * to_double(terms.depth);
}

double modelled_cycles(const CollectiveRequest& request, const Method& method, const Machine& machine) {
  check_method(request, method, machine);
  return Model(request, method, machine).cycles();
}

double modelled_bound(const CollectiveRequest& request, const Machine& machine) {
  check(request, machine);
  const CoreArea& area = request.area;
  if (area.rows == 1 || area.columns == 1) return reduce_bound(area.cores(), request.wavelets, machine);
  const double vector = to_double(request.wavelets) * machine.pace();
  return std::max(vector, vector / 8 + to_double(area.rows + area.columns - 1) * machine.hop_cycles) +
         machine.stage_cycles();
}

std::vector<Method> methods_for(const CollectiveRequest& request) {
  const CoreArea& area = request.area;
  const bool line = area.rows == 1 || area.columns == 1;
  const bool at_first = request.root == Core{area.row, area.column};
  std::vector<Method> methods;
  const auto add = [&](Algorithm algorithm) { methods.push_back({algorithm}); };
  const auto add_trees = [&](bool middle) {
    for (const LineTree x : kLineTrees) {
      if (area.columns == 1 && x != LineTree::chain) continue;
      for (const LineTree y : kLineTrees) {
        if (area.rows == 1 && y != LineTree::chain) continue;
        methods.push_back({Algorithm::trees, x, y, middle});
      }
    }
  };
  const auto add_rings = [&](bool both) {
    if (line || has_even_side(area)) add(Algorithm::ring);
    if (both && !line && has_even_side(area)) add(Algorithm::rings);
    if (!line) add(Algorithm::buckets);
  };
  switch (request.kind) {
    case CollectiveKind::send:
    case CollectiveKind::scatter:
    case CollectiveKind::gather: add(Algorithm::direct); break;
    case CollectiveKind::broadcast: add(Algorithm::flood); break;
    case CollectiveKind::reduce:
      add_trees(false);
      if (!line && at_first) add(Algorithm::snake);
      break;
    case CollectiveKind::all_reduce:
      add_trees(false);
      add_trees(true);
      if (!line) add(Algorithm::snake);
      add_rings(true);
      break;
    case CollectiveKind::reduce_scatter:
      add_rings(false);
      add_trees(false);
      break;
    case CollectiveKind::all_gather:
      add_rings(false);
      add(Algorithm::direct);
      break;
  }
  return methods;
}

MethodChoice choose_method(const CollectiveRequest& request, const Machine& machine) {
  check(request, machine);
  const auto best_tree = [&](Index cores, Index root) {
    LineTree best = LineTree::star;
    double least = std::numeric_limits<double>::infinity();
    for (const LineTree tree : kLineTrees) {
      const double cycles = reduce_cycles(cores, root, tree, request.wavelets, machine);
      if (cycles < least) best = tree;
      least = std::min(least, cycles);
    }
    return best;
  };
  const CoreArea& area = request.area;
  MethodChoice best{{}, std::numeric_limits<double>::infinity()};
  bool middle = false, met = false;
  for (Method method : methods_for(request)) {
    if (method.algorithm == Algorithm::trees) {
      // Rows are summed before the column, so the best of each is the best of both.
      if (met && method.middle == middle) continue;
      met = true;
      middle = method.middle;
      const Core root = root_of(request, method);
      if (area.columns > 1) method.along_rows = best_tree(area.columns, root.column - area.column);
      if (area.rows > 1) method.along_columns = best_tree(area.rows, root.row - area.row);
    }
    const double cycles = Model(request, method, machine).cycles();
    if (cycles < best.cycles) best = {method, cycles};
  }
  return best;
}

}  // namespace wafer::inline v0
