// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/panels.hpp"

#include <wafer/compiler/layout.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <unordered_map>

namespace wafer::inline v0 {

namespace {

/// Bytes after which addresses share their places in L1, and of a line of it.
constexpr Index kColliding = 4096, kLine = 64;

/// Finds the buffers of one program that hold a tile alone: what a head and its tails compute in the head's
/// shape, and nobody else reads.
class TileBuffers {
 public:
  TileBuffers(const Step& step, const StepFactors& factors, const Communication& communication,
              const Fusion& fusion, Index fast_memory, std::size_t program)
      : step_(step),
        factors_(factors),
        communication_(communication),
        fusion_(fusion.programs[program]),
        fast_memory_(fast_memory),
        index_(program),
        program_(step.programs[program]),
        ops_(communication.programs[program]) {}

  void find(std::vector<bool>& in_tile) {
    for (std::uint32_t op = 0; op < program_.order.size(); ++op) {
      if (!fusion_.tails_of(op).empty() && stays_in_cache(node_of(op))) add_shaped(op);
    }
    for (std::uint32_t op = 0; op < program_.order.size(); ++op) {
      for (std::uint32_t k = 0; k < node_of(op).inputs; ++k) {
        const auto made = head_.find(ops_.operands[ops_.first_operand[op] + k]);
        if (made != head_.end() && made->second != fusion_.head[op]) head_.erase(made);
      }
    }
    for (const Transfer& transfer : ops_.transfers) head_.erase(transfer.from);
    for (const auto& [b, head] : head_) in_tile[b] = communication_.buffers[b].use == Buffer::Use::temporary;
  }

 private:
  const Node& node_of(std::uint32_t op) const { return step_.graph->nodes[program_.order[op]]; }

  // Each of the many small tiles reads all of an operand again.
  bool stays_in_cache(const Node& node) const {
    const auto inputs = step_.graph->inputs_of(node);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId value) {
      return bytes_of(step_.graph->values[value].type) <= fast_memory_;
    });
  }

  void add_shaped(std::uint32_t head) {
    std::vector<ValueId> shaped{node_of(head).first_value};
    head_[ops_.operands[ops_.first_operand[head] + node_of(head).inputs]] = head;
    for (std::uint32_t tail : fusion_.tails_of(head)) {
      const std::vector<std::int8_t> in_head = factors_in_head(step_, factors_, index_, head, tail, shaped);
      const Node& node = node_of(tail);
      for (ValueId v : results_in_shape(step_, factors_, index_, head, tail, in_head)) {
        shaped.push_back(v);
        head_[ops_.operands[ops_.first_operand[tail] + node.inputs + (v - node.first_value)]] = head;
      }
    }
  }

  const Step& step_;
  const StepFactors& factors_;
  const Communication& communication_;
  const ProgramFusion& fusion_;
  const Index fast_memory_;
  const std::size_t index_;
  const Program& program_;
  const ProgramCommunication& ops_;
  std::unordered_map<BufferId, std::uint32_t> head_;  // of the action that computes it in its head's shape
};

/// Elements to leave free behind each row of a buffer.
Index gap_of(const Step& step, const Buffer& buffer) {
  const TensorType& type = step.graph->values[buffer.value].type;
  if (buffer.use != Buffer::Use::temporary || type.shape.rank() < 2) return 0;
  const Index row = type.shape[type.shape.rank() - 1], size = size_of(type.dtype);
  return row > 0 && row % (kColliding / size) == 0 ? kLine / size : 0;
}

}  // namespace

int Layout::panel_factor(const Step& step, const StepFactors& factors, const Communication& communication,
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
  if (!has_panels()) return;
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    for (std::uint32_t op = 0; op < step.programs[i].order.size(); ++op) {
      if (!fits_panels(*this, step, factors, communication, fusion, i, op))
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
    if (panelled[b] >= 0)
      out += "dimension " + std::to_string(panelled[b]) + " in panels of " + std::to_string(kPanel);
    if (gap[b] > 0) out += "rows with a gap of " + std::to_string(gap[b]);
    out += ", " + text_of(value.type) + " of " + step.graph->where(value.node) + "\n";
  }
  return out;
}

Layout choose_layout(const Step& step, const StepFactors& factors, const Communication& communication,
                     const Fusion& fusion, const Fabric& fabric, bool panels) {
  const std::size_t buffers = communication.buffers.size();
  Layout out;
  out.panelled.assign(buffers, -1);
  out.in_tile.assign(buffers, false);
  out.gap.assign(buffers, 0);
  if (!fabric.shared_memory) return out;
  for (std::size_t i = 0; i < step.programs.size(); ++i)
    TileBuffers(step, factors, communication, fusion, fabric.fast_memory, i).find(out.in_tile);
  for (BufferId b = 0; b < buffers; ++b) out.gap[b] = gap_of(step, communication.buffers[b]);
  if (panels) choose_panels(step, factors, communication, fusion, out);
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
