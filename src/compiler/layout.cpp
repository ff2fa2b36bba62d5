// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/layout.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace wafer::inline v0 {

namespace {

/// Bytes after which addresses share their places in L1, and of a line of it.
constexpr Index kColliding = 4096, kLine = 64;

/// A last panel that is not full may take so much more memory than the matrix, as a part of it.
constexpr Index kGreatestWaste = 4;

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
    const Kernels kernels = node_.op.kernels(graph.input_types(node_));
    takes_panels_ = !kernels.empty() && kernels.front().takes_panels;
    runs_tail_ = !kernels.empty() && kernels.front().runs_tail;
  }

  const std::vector<MatrixOperand>& matrices() const { return matrices_; }
  bool takes_panels() const { return takes_panels_; }
  bool runs_tail() const { return runs_tail_; }
  /// Of a product: its second matrix, or its result.
  bool is_panel_slot(std::uint32_t slot) const { return slot == 1 || slot == node_.inputs; }
  bool is_parallel(int factor) const {
    const OpFactor& of = factors_[static_cast<std::size_t>(factor)];
    return of.kind == FactorKind::parallel && of.splittable;
  }

 private:
  const Node& node_;
  std::span<const OpFactor> factors_;
  std::vector<MatrixOperand> matrices_;
  bool takes_panels_ = false, runs_tail_ = false;
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
        if (!of.is_panel_slot(operand.slot) || panelled > 1) return false;
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

class LayoutChooser {
 public:
  LayoutChooser(const Step& step, const StepFactors& factors, const Communication& communication,
                const Fusion& fusion, const Fabric& fabric)
      : step_(step),
        factors_(factors),
        communication_(communication),
        fusion_(fusion),
        fast_memory_(fabric.fast_memory),
        rules_(step, factors, communication, fusion) {
    parent_.resize(communication.buffers.size());
    std::iota(parent_.begin(), parent_.end(), BufferId{0});
    wanted_.assign(parent_.size(), -1);
    readers_.resize(parent_.size());
    layout_.panelled.assign(parent_.size(), -1);
    layout_.in_tile.assign(parent_.size(), false);
    layout_.gap.assign(parent_.size(), 0);
  }

  Layout run(bool panels) {
    find_in_tile();
    leave_gaps();
    if (!panels) return std::move(layout_);
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
    return std::move(layout_);
  }

 private:
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

  void leave_gaps() {
    for (BufferId b = 0; b < layout_.gap.size(); ++b) {
      const TensorType& type = step_.graph->values[communication_.buffers[b].value].type;
      if (communication_.buffers[b].use != Buffer::Use::temporary || type.shape.rank() < 2) continue;
      const Index row = type.shape[type.shape.rank() - 1];
      if (row > 0 && row % (kColliding / size_of(type.dtype)) == 0)
        layout_.gap[b] = kLine / size_of(type.dtype);
    }
  }

  // Each of the many small tiles reads all of an operand again.
  bool stays_in_cache(const Node& node) const {
    const auto inputs = step_.graph->inputs_of(node);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId value) {
      return bytes_of(step_.graph->values[value].type) <= fast_memory_;
    });
  }

  // What a head and its tails compute in the head's shape, and nobody else reads.
  void find_in_tile() {
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      const Program& program = step_.programs[i];
      const ProgramCommunication& ops = communication_.programs[i];
      std::vector<bool> read_elsewhere(communication_.buffers.size());
      for (const Transfer& transfer : ops.transfers) read_elsewhere[transfer.from] = true;
      std::unordered_map<BufferId, std::uint32_t> shaped;  // and the head of the action
      for (std::uint32_t op = 0; op < program.order.size(); ++op) {
        const auto tails = fusion_.programs[i].tails_of(op);
        if (tails.empty() || !stays_in_cache(step_.graph->nodes[program.order[op]])) continue;
        std::vector<ValueId> values{step_.graph->nodes[program.order[op]].first_value};
        for (std::uint32_t tail : tails) {
          const std::vector<std::int8_t> in_head = factors_in_head(step_, factors_, i, op, tail, values);
          for (ValueId v : results_in_shape(step_, factors_, i, op, tail, in_head)) values.push_back(v);
        }
        for (std::uint32_t of : action_of(i, op)) {
          const Node& node = step_.graph->nodes[program.order[of]];
          for (std::uint32_t r = 0; r < node.values; ++r) {
            if (std::find(values.begin(), values.end(), node.first_value + r) != values.end())
              shaped[ops.operands[ops.first_operand[of] + node.inputs + r]] = op;
          }
        }
      }
      for (std::uint32_t op = 0; op < program.order.size(); ++op) {
        const Node& node = step_.graph->nodes[program.order[op]];
        for (std::uint32_t k = 0; k < node.inputs; ++k) {
          const BufferId b = ops.operands[ops.first_operand[op] + k];
          const auto made = shaped.find(b);
          if (made != shaped.end() && made->second != fusion_.programs[i].head[op]) read_elsewhere[b] = true;
        }
      }
      for (const auto& [b, head] : shaped) {
        layout_.in_tile[b] = communication_.buffers[b].use == Buffer::Use::temporary && !read_elsewhere[b];
      }
    }
  }

  std::vector<std::uint32_t> action_of(std::size_t program, std::uint32_t head) const {
    std::vector<std::uint32_t> ops{head};
    const auto tails = fusion_.programs[program].tails_of(head);
    ops.insert(ops.end(), tails.begin(), tails.end());
    return ops;
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
  const StepFactors& factors_;
  const Communication& communication_;
  const Fusion& fusion_;
  const Index fast_memory_;
  Rules rules_;
  std::vector<BufferId> parent_;
  std::vector<std::int8_t> wanted_;  // by buffer: the dimension of a variable that a product wants in panels
  std::vector<std::vector<std::pair<std::size_t, std::uint32_t>>> readers_;
  Layout layout_;
};

}  // namespace

int Layout::panel_factor(const StepFactors& factors, const Communication& communication, const Step& step,
                         std::size_t program, std::uint32_t op) const {
  const ProgramCommunication& ops = communication.programs[program];
  const Node& node = step.graph->nodes[step.programs[program].order[op]];
  std::uint32_t outer = factors.programs[program].first_outer[op];
  for (std::uint32_t k = 0; k < node.inputs + node.values; ++k) {
    const BufferId buffer = ops.operands[ops.first_operand[op] + k];
    if (panelled[buffer] >= 0)
      return factors.programs[program].outer[outer + static_cast<std::uint32_t>(panelled[buffer])];
    outer +=
        static_cast<std::uint32_t>(step.graph->values[communication.buffers[buffer].value].type.shape.rank());
  }
  return -1;
}

void Layout::verify(const Step& step, const StepFactors& factors, const Communication& communication,
                    const Fusion& fusion) const {
  const std::size_t buffers = communication.buffers.size();
  if (panelled.size() != buffers || in_tile.size() != buffers || gap.size() != buffers)
    throw InternalError("a layout of other buffers");
  for (BufferId b = 0; b < panelled.size(); ++b) {
    const Value& value = step.graph->values[communication.buffers[b].value];
    const bool may_have_gap = communication.buffers[b].use == Buffer::Use::temporary && panelled[b] == -1;
    if (gap[b] < 0 || (gap[b] > 0 && !may_have_gap))
      throw InternalError(text_of(value.type) + " of " + step.graph->where(value.node) +
                          " cannot have gaps of " + std::to_string(gap[b]));
    if (panelled[b] == -1 || may_be_panelled(step, communication, b, panelled[b])) continue;
    throw InternalError(text_of(value.type) + " of " + step.graph->where(value.node) +
                        " cannot be in panels of dimension " + std::to_string(panelled[b]));
  }
  const Rules rules(step, factors, communication, fusion);
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    for (std::uint32_t op = 0; op < step.programs[i].order.size(); ++op) {
      if (!rules.fits(*this, i, op))
        throw InternalError(step.graph->where(step.programs[i].order[op]) +
                            " meets panels that it cannot take");
    }
  }
}

std::string Layout::dump(const Step& step, const Communication& communication) const {
  std::string out;
  for (BufferId b = 0; b < panelled.size(); ++b) {
    if (panelled[b] < 0 && gap[b] == 0) continue;
    const Value& value = step.graph->values[communication.buffers[b].value];
    out += "buffer " + std::to_string(b) + " ";
    out += panelled[b] < 0
               ? "rows with a gap of " + std::to_string(gap[b])
               : "dimension " + std::to_string(panelled[b]) + " in panels of " + std::to_string(kPanel);
    out += ", " + text_of(value.type) + " of " + step.graph->where(value.node) + "\n";
  }
  return out;
}

Layout choose_layout(const Step& step, const StepFactors& factors, const Communication& communication,
                     const Fusion& fusion, const Fabric& fabric, bool panels) {
  if (fabric.shared_memory) return LayoutChooser(step, factors, communication, fusion, fabric).run(panels);
  Layout out;
  out.panelled.assign(communication.buffers.size(), -1);
  out.in_tile.assign(communication.buffers.size(), false);
  out.gap.assign(communication.buffers.size(), 0);
  return out;
}

Storage lay_out(std::span<const Index> extents, int panelled, Index gap) {
  Storage out;
  out.strides.resize(extents.size());
  if (panelled >= 0) {
    const auto dim = static_cast<std::size_t>(panelled);
    const Index other = std::max<Index>(1, extents[1 - dim]),
                panels = round_up(extents[dim], kPanel) / kPanel;
    const Index panel = checked_mul(kPanel, other);
    out.strides[dim] = panels > 1 ? Stride(1, panel) : Stride(1);
    out.strides[1 - dim] = kPanel;
    out.elements = checked_mul(panels, panel);
    return out;
  }
  Index stride = 1;
  out.elements = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const Index behind = d + 1 == extents.size() ? gap : 0;
    out.strides[d] = Stride(stride, checked_mul(kPanel, stride));
    stride = checked_mul(stride, std::max<Index>(1, extents[d]) + behind);
    out.elements = checked_mul(out.elements, extents[d] + behind);
  }
  return out;
}

}  // namespace wafer::inline v0
