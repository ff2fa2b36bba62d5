// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/tiling.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <cmath>

namespace wafer::inline v0 {

namespace {

constexpr double kTileSeconds = 4e-6;  // a claim costs well below a microsecond, a wait for a neighbour a few
constexpr Index kTilesPerWorker = 8;   // so that a slower core gets fewer
constexpr Index kColumns = kPanel;     // tiles of columns end on whole panels
// A product whose first matrix is transposed copies rows of it once for so many columns (kernels/gemm.cpp),
// which pays with so many rows.
constexpr Index kWideColumns = 128, kRowsOfWideColumns = 48;
// Results that are kept in a tile leave room for what else it touches.
constexpr double kTilesInFastMemory = 8;

bool takes_panels(const GraphData& graph, const Node& node) {
  return node.op.best_kernel(graph.input_types(node)).takes_panels != 0;
}

class OpTiler {
 public:
  OpTiler(const GraphData& graph, const Node& node, const ProgramFactors& factors, std::size_t op,
          std::vector<Division> divisions, const Grid& grid)
      : graph_(graph), node_(node), factors_(factors), op_(op) {
    for (const Division& division : divisions) local_.push_back(local_extent(division, grid));
  }

  /// `whole_rows`: a tail sums over all of them. `panel_factor`: is in panels; -1 where none is.
  /// `in_tile`: a worker keeps the result in memory for one tile.
  OpTiling run(const Fabric& fabric, Index workers, bool whole_rows, int panel_factor, bool in_tile) {
    OpTiling tiling;
    if (node_.values == 0) return tiling;
    if (panel_factor >= 0 && !takes_panels(graph_, node_)) return panels_of(panel_factor);
    const Index wanted = wanted_tiles(fabric, workers, in_tile);
    const auto of = factors_.of(op_);
    const bool product =
        std::any_of(of.begin(), of.end(), [](const OpFactor& f) { return f.kind == FactorKind::reduced; });
    std::vector<int> dims = result_factors();
    if (product && (whole_rows || !rows_first())) std::reverse(dims.begin(), dims.end());
    if (whole_rows) dims.resize(1);
    const int columns = panel_factor >= 0 ? panel_factor : last_factor();
    const bool wide = dims.size() == 2 && dims[0] == columns && copies_rows(columns);
    Index have = 1;
    for (std::size_t k = 0, used = 0; k < dims.size() && used < 2 && have < wanted; ++k) {
      const int f = dims[k];
      if (f < 0 || !of[static_cast<std::size_t>(f)].splittable) continue;
      const Index extent = local_[static_cast<std::size_t>(f)];
      Index unit = f == columns || f == last_factor() ? kColumns : 1;
      if (wide && f == columns && rows_beside_wide(wanted, extent, dims[1]) >= kRowsOfWideColumns)
        unit = kWideColumns;
      const Index parts = std::min((wanted + have - 1) / have, (extent + unit - 1) / unit);
      if (parts <= 1) continue;
      const Index length = round_up((extent + parts - 1) / parts, unit);
      tiling.factor[used] = static_cast<std::int8_t>(f);
      tiling.length[used] = length;
      tiling.count[used] = (extent + length - 1) / length;
      have *= tiling.count[used];
      ++used;
    }
    return tiling;
  }

 private:
  OpTiling panels_of(int factor) const {
    OpTiling tiling;
    const Index extent = local_[static_cast<std::size_t>(factor)];
    if (extent <= kPanel) return tiling;
    tiling.factor[0] = static_cast<std::int8_t>(factor);
    tiling.length[0] = kPanel;
    tiling.count[0] = (extent + kPanel - 1) / kPanel;
    return tiling;
  }

  // The outermost factors of the dimensions of an operand: the inputs, then the results.
  std::vector<int> outer_factors(std::size_t operand) const {
    std::uint32_t at = factors_.first_outer[op_];
    const auto inputs = graph_.inputs_of(node_);
    const auto rank_of = [&](std::size_t k) {
      const ValueId value = k < inputs.size() ? inputs[k] : node_.first_value;
      return static_cast<std::uint32_t>(graph_.values[value].type.shape.rank());
    };
    for (std::size_t k = 0; k < operand; ++k) at += rank_of(k);
    const auto begin = factors_.outer.begin() + at;
    return {begin, begin + rank_of(operand)};
  }
  std::vector<int> result_factors() const { return outer_factors(graph_.inputs_of(node_).size()); }

  // A product of two matrices, the one without these columns stored by columns.
  bool copies_rows(int columns) const {
    if (graph_.inputs_of(node_).size() != 2) return false;
    const auto of = factors_.of(op_);
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<int> dims = outer_factors(k);
      if (dims.size() != 2 || dims[0] < 0 || dims[1] < 0) return false;
      if (dims[0] == columns || dims[1] == columns) continue;
      return of[static_cast<std::size_t>(dims[0])].kind == FactorKind::reduced;
    }
    return false;
  }

  // Rows of a tile, where tiles have kWideColumns.
  Index rows_beside_wide(Index wanted, Index columns, int row_factor) const {
    if (row_factor < 0 || !factors_.of(op_)[static_cast<std::size_t>(row_factor)].splittable) return 0;
    const Index parts = (columns + kWideColumns - 1) / kWideColumns;
    return local_[static_cast<std::size_t>(row_factor)] * parts / std::max(wanted, parts);
  }

  // Tiles of columns each read a part of the second matrix and all of the first, tiles of rows the reverse:
  // so the larger one is cut. Where the result is larger still (the gradient of weights, say), tiles of rows
  // write memory that is their own.
  bool rows_first() const {
    const auto inputs = graph_.inputs_of(node_);
    const auto bytes_of_value = [&](ValueId value) { return bytes_of(graph_.values[value].type); };
    if (inputs.size() < 2) return false;
    const Index a = bytes_of_value(inputs[0]), b = bytes_of_value(inputs[1]);
    return a > b || bytes_of_value(node_.first_value) > b;
  }

  int last_factor() const {
    const std::vector<int> dims = result_factors();
    return dims.empty() ? -1 : dims.back();
  }

  Index wanted_tiles(const Fabric& fabric, Index workers, bool in_tile) const {
    const Types out = graph_.result_types(node_);
    const Cost cost = node_.op.cost(graph_.input_types(node_), out);
    double share = 1;  // of the op that one block computes at a time
    const auto of = factors_.of(op_);
    for (std::size_t f = 0; f < of.size(); ++f) {
      if (of[f].extent > 0) share *= static_cast<double>(local_[f]) / static_cast<double>(of[f].extent);
    }
    const double seconds = share * std::max(cost.flops / fabric.flops, cost.bytes / fabric.memory_rate);
    const Index by_time = static_cast<Index>(std::min(1e6, seconds / kTileSeconds));
    // Kernels that run tails keep to fast memory by themselves.
    const bool by_itself = node_.op.best_kernel(graph_.input_types(node_)).runs_tail;
    const double fast_memory = static_cast<double>(fabric.fast_memory);
    const double pieces = in_tile
                              ? kTilesInFastMemory * static_cast<double>(bytes_of(out.front())) / fast_memory
                              : share * cost.bytes / (4 * fast_memory);
    const Index by_memory = by_itself && !in_tile ? 1 : static_cast<Index>(std::min(1e6, pieces));
    const Index for_workers = workers > 1 ? std::min(by_time, workers * kTilesPerWorker) : 1;
    return std::max<Index>({1, for_workers, by_memory});
  }

  const GraphData& graph_;
  const Node& node_;
  const ProgramFactors& factors_;
  std::size_t op_;
  std::vector<Index> local_;
};

}  // namespace

Division division_of(const Step& step, std::size_t program, const OpFactor& factor, std::int8_t direction,
                     Index feature_unit, bool micro) {
  Division d;
  d.extent = factor.extent;
  d.axis = factor.axis;
  if (factor.axis >= 0)
    d.per = factor.extent / step.graph->axes[static_cast<std::size_t>(factor.axis)].extent;
  const bool batch = factor.axis >= 0 && factor.axis == step.programs[program].batch_axis;
  d.micro = batch && micro;
  d.direction = direction;
  d.unit = direction >= 0 && !batch ? feature_unit : 1;
  return d;
}

std::vector<Division> divisions_of(const Step& step, const StepFactors& factors, const Partition& partition,
                                   const Communication& communication, std::size_t program, std::size_t op) {
  const bool micro = communication.micro_batches_of(step.programs[program]) > 1 &&
                     step.programs[program].region[op] == Region::body;
  std::vector<Division> out;
  const auto of = factors.programs[program].of(op);
  for (std::size_t f = 0; f < of.size(); ++f) {
    std::int8_t direction = -1;
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      const bool here = partition.programs[program].factor[op][dir] == static_cast<std::int8_t>(f);
      if (here && partition.parts[dir] > 1) direction = static_cast<std::int8_t>(dir);
    }
    out.push_back(division_of(step, program, of[f], direction, partition.feature_unit, micro));
  }
  return out;
}

Tiling tile_step(const Step& step, const StepFactors& factors, const Partition& partition,
                 const Communication& communication, const Fusion& fusion, const Layout& layout,
                 const MemoryPlan& memory, const Fabric& fabric) {
  Tiling out;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    const Program& program = step.programs[i];
    const Grid grid{partition.parts, communication.micro_batches_of(program)};
    std::vector<OpTiling>& tilings = out.programs.emplace_back();
    tilings.reserve(program.order.size());
    for (std::uint32_t p = 0; p < program.order.size(); ++p) {
      if (fusion.programs[i].is_tail(p)) {
        tilings.emplace_back();
        continue;
      }
      OpTiler tiler(*step.graph, step.graph->nodes[program.order[p]], factors.programs[i], p,
                    divisions_of(step, factors, partition, communication, i, p), grid);
      bool sums_rows = false;
      for (std::uint32_t tail : fusion.programs[i].tails_of(p)) {
        for (const OpFactor& factor : factors.programs[i].of(tail))
          sums_rows = sums_rows || factor.kind == FactorKind::reduced;
      }
      const int panel_factor = layout.panel_factor(step, factors, communication, i, p);
      const ProgramCommunication& ops = communication.programs[i];
      const std::uint32_t end = ops.first_operand[p + 1];
      const bool in_tile = end > ops.first_operand[p] && memory.slots[ops.operands[end - 1]].in_tile;
      tilings.push_back(tiler.run(fabric, partition.choices.workers, sums_rows, panel_factor, in_tile));
    }
  }
  return out;
}

void Tiling::verify(const Step& step, const StepFactors& factors, const Partition& partition,
                    const Communication& communication, const Fusion& fusion, const Layout& layout) const {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Grid grid{partition.parts, communication.micro_batches_of(step.programs[i])};
    for (std::uint32_t p = 0; p < programs[i].size(); ++p) {
      const OpTiling& tiling = programs[i][p];
      const auto of = factors.programs[i].of(p);
      const NodeId id = step.programs[i].order[p];
      const int panel_factor = layout.panel_factor(step, factors, communication, i, p);
      Index in_panels = panel_factor < 0 ? 0 : of[static_cast<std::size_t>(panel_factor)].extent;
      std::vector<Division> divisions;
      for (std::size_t k = 0; k < 2; ++k) {
        if (tiling.factor[k] < 0) continue;
        if (divisions.empty()) divisions = divisions_of(step, factors, partition, communication, i, p);
        const auto f = static_cast<std::size_t>(tiling.factor[k]);
        const bool covers =
            tiling.length[k] > 0 && tiling.length[k] * tiling.count[k] >= local_extent(divisions[f], grid);
        if (!covers || !of[f].splittable || of[f].kind != FactorKind::parallel)
          throw InternalError(step.graph->where(id) + " has tiles that do not cover it");
        if (tiling.factor[k] != panel_factor) continue;
        in_panels = tiling.length[k];
        if (in_panels % kPanel != 0)
          throw InternalError(step.graph->where(id) + " has tiles that cut a panel");
      }
      // (A tail has the pieces of its head.)
      if (in_panels > kPanel && !fusion.programs[i].is_tail(p) &&
          !takes_panels(*step.graph, step.graph->nodes[id]))
        throw InternalError(step.graph->where(id) + " has tiles of several panels");
    }
  }
}

std::string Tiling::dump(const Step& step) const {
  std::string out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out += "step '" + step.programs[i].name + "'\n";
    for (std::size_t p = 0; p < programs[i].size(); ++p) {
      const OpTiling& tiling = programs[i][p];
      if (tiling.tiles() == 1) continue;
      out += "  " + step.graph->where(step.programs[i].order[p]) + ": tiles " +
             std::to_string(tiling.count[0]) + " of " + std::to_string(tiling.length[0]);
      if (tiling.factor[1] >= 0) {
        out += " x " + std::to_string(tiling.count[1]) + " of " + std::to_string(tiling.length[1]);
      }
      out += "\n";
    }
  }
  return out;
}

}  // namespace wafer::inline v0
