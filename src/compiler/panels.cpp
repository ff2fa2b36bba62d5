// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/panels.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace wafer::inline v0 {

namespace {

/// A last panel that is not full may take so much more memory than the matrix, as a part of it.
constexpr Index kGreatestWaste = 4;

/// An operand of an op that is a matrix, and the factor of each of its dimensions.
struct MatrixOperand {
  std::uint32_t slot;  ///< inputs, then results
  BufferId buffer;
  std::array<int, 2> factor;  ///< -1 where a dimension is not one whole factor
};

/// One op of a step, with what its kernel takes.
class OpView {
 public:
  OpView(const Step& step, const StepFactors& factors, const Communication& communication,
         std::size_t program, std::uint32_t op)
      : node_(step.graph->nodes[step.programs[program].order[op]]),
        factors_(factors.programs[program].of(op)) {
    const GraphData& graph = *step.graph;
    const ProgramCommunication& ops = communication.programs[program];
    const std::int8_t* outer =
        factors.programs[program].outer.data() + factors.programs[program].first_outer[op];
    for (std::uint32_t slot = 0; slot < node_.inputs + node_.values; ++slot) {
      const BufferId buffer = ops.operands[ops.first_operand[op] + slot];
      const Shape& shape = graph.values[communication.buffers[buffer].value].type.shape;
      if (shape.rank() == 2) {
        const auto whole = [&](int d) {
          const int f = outer[d];
          return f >= 0 && factors_[static_cast<std::size_t>(f)].extent == shape[d] ? f : -1;
        };
        matrices_.push_back({slot, buffer, {whole(0), whole(1)}});
      }
      outer += shape.rank();
    }
    if (matrices_.empty()) return;
    const Kernel kernel = node_.op.best_kernel(graph.input_types(node_));
    panel_operands_ = kernel.takes_panels;
    runs_tail_ = kernel.runs_tail;
  }

  const std::vector<MatrixOperand>& matrices() const { return matrices_; }
  bool takes_panels() const { return panel_operands_ != 0; }
  bool takes_panels(std::uint32_t slot) const { return slot < 32 && (panel_operands_ >> slot & 1U) != 0; }
  bool runs_tail() const { return runs_tail_; }
  bool is_parallel(int factor) const {
    const OpFactor& of = factors_[static_cast<std::size_t>(factor)];
    return of.kind == FactorKind::parallel && of.splittable;
  }

 private:
  const Node& node_;
  std::span<const OpFactor> factors_;
  std::vector<MatrixOperand> matrices_;
  std::uint32_t panel_operands_ = 0;
  bool runs_tail_ = false;
};

/// Whether ops take the panels of a layout.
class Rules {
 public:
  Rules(const Step& step, const StepFactors& factors, const Communication& communication,
        const Fusion& fusion)
      : step_(step), factors_(factors), communication_(communication), fusion_(fusion) {}

  OpView view(std::size_t program, std::uint32_t op) const {
    return {step_, factors_, communication_, program, op};
  }

  bool fits(const Layout& layout, std::size_t program, std::uint32_t op) const {
    const ProgramFusion& fusion = fusion_.programs[program];
    const OpView of = view(program, op);
    const bool has_tails = !fusion.tails_of(op).empty();
    int panel_factor = -1, panelled = 0;
    for (const MatrixOperand& operand : of.matrices()) {
      const int dim = layout.panelled[operand.buffer];
      if (dim < 0) continue;
      const int factor = operand.factor[static_cast<std::size_t>(dim)];
      ++panelled;
      if (factor < 0) return false;
      if (of.takes_panels()) {
        if (!of.takes_panels(operand.slot) || panelled > 1) return false;
        continue;
      }
      // The tiles of other ops are cut between panels.
      if (!of.is_parallel(factor) || (panel_factor >= 0 && factor != panel_factor)) return false;
      panel_factor = factor;
    }
    if (panelled == 0) return true;
    if (fusion.is_tail(op)) return follows_panels(layout, program, op, panel_factor);
    return of.takes_panels() || !has_tails;
  }

 private:
  // The pieces that a tail runs on are its head's, so they lie within panels if the head's result is in
  // panels of the same factor.
  bool follows_panels(const Layout& layout, std::size_t program, std::uint32_t tail, int panel_factor) const {
    const ProgramFusion& fusion = fusion_.programs[program];
    const std::uint32_t head = fusion.head[tail];
    const OpView of = view(program, head);
    const Node& node = step_.graph->nodes[step_.programs[program].order[head]];
    if (!of.takes_panels() || !of.runs_tail() || of.matrices().empty() || panel_factor < 0) return false;
    const MatrixOperand& result = of.matrices().back();
    const int dim = layout.panelled[result.buffer];
    if (result.slot != node.inputs || dim < 0) return false;
    std::vector<ValueId> shaped{node.first_value};
    for (std::uint32_t other : fusion.tails_of(head)) {
      const std::vector<std::int8_t> in_head = factors_in_head(step_, factors_, program, head, other, shaped);
      if (other == tail)
        return in_head[static_cast<std::size_t>(panel_factor)] ==
               result.factor[static_cast<std::size_t>(dim)];
      for (ValueId v : results_in_shape(step_, factors_, program, head, other, in_head)) shaped.push_back(v);
    }
    return false;
  }

  const Step& step_;
  const StepFactors& factors_;
  const Communication& communication_;
  const Fusion& fusion_;
};

class PanelChooser {
 public:
  PanelChooser(const Step& step, const StepFactors& factors, const Communication& communication,
               const Fusion& fusion, Layout& layout)
      : step_(step),
        communication_(communication),
        rules_(step, factors, communication, fusion),
        layout_(layout) {
    parent_.resize(communication.buffers.size());
    std::iota(parent_.begin(), parent_.end(), BufferId{0});
    wanted_.assign(parent_.size(), -1);
    readers_.resize(parent_.size());
  }

  void run() {
    if (!any_variable_may_be_panelled()) return;
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      for (std::uint32_t op = 0; op < step_.programs[i].order.size(); ++op) look_at(i, op);
      for (const Transfer& transfer : communication_.programs[i].transfers) {
        if (transfer.region == Region::commit) join(transfer.from, transfer.to);
      }
    }
    std::vector<std::vector<BufferId>> groups(parent_.size());
    for (BufferId b = 0; b < parent_.size(); ++b) groups[find(b)].push_back(b);
    for (const std::vector<BufferId>& group : groups) {
      const auto wants =
          std::find_if(group.begin(), group.end(), [&](BufferId b) { return wanted_[b] >= 0; });
      if (wants != group.end()) try_panels(group, wanted_[*wants]);
    }
  }

 private:
  bool any_variable_may_be_panelled() const {
    for (BufferId b = 0; b < parent_.size(); ++b) {
      if (communication_.buffers[b].use != Buffer::Use::variable) continue;
      if (may_be_panelled(step_, communication_, b, 0) || may_be_panelled(step_, communication_, b, 1))
        return true;
    }
    return false;
  }

  BufferId find(BufferId b) {
    while (parent_[b] != b) b = parent_[b] = parent_[parent_[b]];
    return b;
  }
  void join(BufferId a, BufferId b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  // Matrices that lie alike in an op should be stored alike. A product wants the columns of its second matrix
  // in panels.
  void look_at(std::size_t program, std::uint32_t op) {
    const OpView of = rules_.view(program, op);
    for (const MatrixOperand& operand : of.matrices()) {
      readers_[operand.buffer].emplace_back(program, op);
      if (!of.takes_panels()) continue;
      if (operand.slot != 1 || communication_.buffers[operand.buffer].use != Buffer::Use::variable) continue;
      const int columns = operand.factor[0] >= 0 && of.is_parallel(operand.factor[0]) ? 0 : 1;
      if (wanted_[operand.buffer] < 0) wanted_[operand.buffer] = static_cast<std::int8_t>(columns);
    }
    if (of.takes_panels()) return;
    for (const MatrixOperand& operand : of.matrices()) {
      const MatrixOperand& first = of.matrices().front();
      if (operand.factor == first.factor && operand.factor[0] >= 0 && operand.factor[1] >= 0)
        join(operand.buffer, first.buffer);
    }
  }

  void try_panels(const std::vector<BufferId>& group, std::int8_t dim) {
    bool fits = true;
    for (BufferId b : group) fits = fits && may_be_panelled(step_, communication_, b, dim);
    if (!fits) return;
    for (BufferId b : group) layout_.panelled[b] = dim;
    for (BufferId b : group) {
      for (const auto& [program, op] : readers_[b]) fits = fits && rules_.fits(layout_, program, op);
    }
    for (BufferId b : group) {
      if (fits) {
        layout_.gap[b] = 0;
      } else {
        layout_.panelled[b] = -1;
      }
    }
  }

  const Step& step_;
  const Communication& communication_;
  Rules rules_;
  std::vector<BufferId> parent_;
  std::vector<std::int8_t> wanted_;  // by buffer: the dimension of a variable that a product wants in panels
  std::vector<std::vector<std::pair<std::size_t, std::uint32_t>>> readers_;
  Layout& layout_;
};

}  // namespace

bool may_be_panelled(const Step& step, const Communication& communication, BufferId b, int dim) {
  const Buffer& buffer = communication.buffers[b];
  const Value& value = step.graph->values[buffer.value];
  if (buffer.use != Buffer::Use::temporary && buffer.use != Buffer::Use::variable) return false;
  if (value.type.shape.rank() != 2 || value.type.dtype != DType::f32 || dim < 0 || dim > 1) return false;
  if (value.axes[0] >= 0 || value.axes[1] >= 0 || buffer.micro) return false;
  const Index extent = value.type.shape[dim];
  const Index waste = round_up(extent, kPanel) - extent;
  return extent >= kPanel && waste <= extent / kGreatestWaste;
}

bool fits_panels(const Layout& layout, const Step& step, const StepFactors& factors,
                 const Communication& communication, const Fusion& fusion, std::size_t program,
                 std::uint32_t op) {
  return Rules(step, factors, communication, fusion).fits(layout, program, op);
}

void choose_panels(const Step& step, const StepFactors& factors, const Communication& communication,
                   const Fusion& fusion, Layout& layout) {
  PanelChooser(step, factors, communication, fusion, layout).run();
}

}  // namespace wafer::inline v0
