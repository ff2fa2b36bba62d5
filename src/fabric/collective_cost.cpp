// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

double to_double(Index value) { return static_cast<double>(value); }

Index ceil_div(Index a, Index b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Of one side of a line: `cores` with the root at its end, for each wavelet. Closed forms [H].
TreeTerms side_terms(Index cores, LineTree tree) {
  const Index links = cores - 1;
  if (links == 0) return {};
  switch (tree) {
    case LineTree::star: return {links, links, links % 2 == 0 ? links / 2 * cores : cores / 2 * links, 1};
    case LineTree::chain: return {1, 1, links, links};
    case LineTree::tree: {
      TreeTerms terms;
      for (Index way = 1; way < cores; way *= 2) {
        terms.hops += way * ((cores - 1 - way) / (2 * way) + 1);
        ++terms.arity;
        if (2 * way <= cores) ++terms.depth;
      }
      terms.root_arity = terms.arity;
      return terms;
    }
    case LineTree::two_phase: {
      const Index size = two_phase_group(cores), groups = ceil_div(cores, size);
      const Index arity = size > 1 && groups > 1 ? 2 : 1;
      return {arity, arity, cores - groups + (groups - 1) * size, size - 1 + groups - 1};
    }
    case LineTree::automatic: break;
  }
  return {};
}

/// A ring of n >= 1 cores through which each piece of at most `piece` wavelets goes once, and each core
/// handles `at_once` of them a step.
double ring_cycles(Index n, Index hops_a_step, Index piece, double pace, double at_once,
                   const Machine& machine) {
  if (n == 1) return 0;
  // Of an interleaved ring of a line, every way but one has two links; the two at the ends have one.
  const double hops = to_double(hops_a_step * (n - 1) - (hops_a_step - 1));
  return to_double(n - 1) * (to_double(piece) * pace * at_once + machine.stage_cycles()) +
         hops * machine.hop_cycles;
}

/// Routes of closed forms, phase by phase.
class Model {
 public:
  Model(const CollectiveRequest& request, const Method& method, const Machine& machine)
      : request_(request), method_(method), machine_(machine), area_(request.area) {}

  double cycles() const {
    const Core first{area_.row, area_.column};
    switch (request_.kind) {
      case CollectiveKind::send: return flood_along(area_.columns - 1, area_.rows - 1);
      case CollectiveKind::broadcast: return flood(request_.root);
      case CollectiveKind::reduce: return reduce(request_.root);
      case CollectiveKind::scatter:
      case CollectiveKind::gather: return pieces(request_.root);
      case CollectiveKind::all_reduce: {
        if (method_.algorithm != Algorithm::trees && method_.algorithm != Algorithm::snake)
          return rings(machine_.pace()) + rings(machine_.link_cycles);
        Core root = first;
        if (method_.middle) root = {area_.row + (area_.rows - 1) / 2, area_.column + (area_.columns - 1) / 2};
        return reduce(root) + flood(root);
      }
      case CollectiveKind::reduce_scatter:
        return method_.algorithm == Algorithm::trees ? reduce(first) + pieces(first) : rings(machine_.pace());
      case CollectiveKind::all_gather:
        return method_.algorithm == Algorithm::direct ? pieces(first) + flood(first)
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

  /// One piece for each core but the root over the root's ramp; the furthest are sent first and come last.
  double pieces(Core root) const {
    if (area_.cores() == 1) return 0;
    const Index columns =
        std::max(root.column - area_.column, area_.column + area_.columns - 1 - root.column);
    const Index rows = std::max(root.row - area_.row, area_.row + area_.rows - 1 - root.row);
    const Index others = request_.wavelets - piece_of(request_, root).count;
    const Index furthest =
        piece_of(request_, {root.row == area_.row ? area_.row + area_.rows - 1 : area_.row,
                            root.column == area_.column ? area_.column + area_.columns - 1 : area_.column})
            .count;
    if (others == 0) return 0;
    const double core = to_double(others) * machine_.link_cycles + machine_.hop_cycles;
    const double way = to_double(furthest) * machine_.link_cycles +
                       to_double(columns + rows) * machine_.hop_cycles +
                       (columns > 0 && rows > 0 ? machine_.turn_cycles : 0);
    return (furthest > 0 ? std::max(core, way) : core) + machine_.stage_cycles();
  }

  double rings(double pace) const {
    const Index columns = area_.columns, rows = area_.rows, wavelets = request_.wavelets;
    const bool line = columns == 1 || rows == 1;
    if (method_.algorithm == Algorithm::buckets || line) {
      const Index piece = ceil_div(wavelets, columns);
      return ring_cycles(columns, 2, piece, pace, 1, machine_) +
             ring_cycles(rows, 2, ceil_div(piece, rows), pace, 1, machine_);
    }
    const Index cores = area_.cores();
    if (method_.algorithm == Algorithm::ring) {
      const Index piece = ceil_div(ceil_div(wavelets, columns), rows);
      return ring_cycles(cores, 1, piece, pace, 1, machine_);
    }
    // Both rings share a core's ramps.
    const Index piece = ceil_div(ceil_div(wavelets, 2), cores);
    const bool alone = wavelets < 2;
    return ring_cycles(cores, 1, piece, pace, machine_.ports > 1 || alone ? 1 : 2, machine_);
  }

  const CollectiveRequest& request_;
  const Method& method_;
  const Machine& machine_;
  const CoreArea& area_;
};

bool has_even_side(const CoreArea& area) { return area.rows % 2 == 0 || area.columns % 2 == 0; }

}  // namespace

double reduce_cycles(Index cores, Index root, LineTree tree, Index wavelets, const Machine& machine) {
  if (cores < 1 || root < 0 || root >= cores || wavelets < 1) {
    throw UserError("reduce: expected at least one core and one wavelet and a root among the cores, got " +
                    std::to_string(cores) + " cores, " + std::to_string(wavelets) + " wavelets, root " +
                    std::to_string(root));
  }
  if (cores == 1) return 0;
  const Index before = root, after = cores - 1 - root, longer = std::max(before, after);
  const double vector = to_double(wavelets) * machine.pace();
  // The root takes what comes as one stream, of which the first has come one hop [H, and the hop].
  if (tree == LineTree::star)
    return vector * to_double(cores - 1) + machine.hop_cycles + machine.stage_cycles();
  const int sides = before > 0 && after > 0 ? 2 : 1;
  TreeTerms a, b;
  if (tree == LineTree::automatic) {
    const TreeChoice choice = choose_tree(longer + 1, sides, wavelets, machine);
    if (sides == 1) return choice.cycles;
    const auto side = [&](Index count) {
      const Index hops = least_hops(count + 1, choice.limits);
      return TreeTerms{choice.limits.arity, choice.limits.root_arity, hops, choice.limits.depth};
    };
    a = side(before);
    b = side(after);
  } else {
    a = side_terms(before + 1, tree);
    b = side_terms(after + 1, tree);
  }
  const double core = vector * to_double(std::max({a.root_arity + b.root_arity, a.arity, b.arity}));
  const double link =
      vector * to_double(a.hops + b.hops) / to_double(cores - 1) + to_double(longer) * machine.hop_cycles;
  return std::max(core, link) + machine.stage_cycles() * to_double(std::max(a.depth, b.depth));
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
  check(request, machine);
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
  const std::vector<Method> methods = methods_for(request);
  MethodChoice best{methods.front(), modelled_cycles(request, methods.front(), machine)};
  for (std::size_t i = 1; i < methods.size(); ++i) {
    const double cycles = modelled_cycles(request, methods[i], machine);
    if (cycles < best.cycles) best = {methods[i], cycles};
  }
  return best;
}

}  // namespace wafer::inline v0
