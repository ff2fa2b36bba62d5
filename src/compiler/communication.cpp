// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/communication.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <unordered_map>

namespace wafer::inline v0 {

std::string_view name_of(TransferKind kind) {
  switch (kind) {
    case TransferKind::send: return "send";
    case TransferKind::broadcast: return "broadcast";
    case TransferKind::reduce: return "reduce";
    case TransferKind::all_reduce: return "all_reduce";
    case TransferKind::all_gather: return "all_gather";
    case TransferKind::copy: return "copy";
  }
  return "?";
}

namespace {

// A value in one program: the buffers that hold it, as far as the program has come.
struct Holding {
  std::vector<BufferId> versions;  // the produced one first
  std::int8_t chain = -1;          // a sum that only the last block of this direction holds
  Region region = Region::prologue;
  bool source = false;
  BufferId feed = kNone;  // an input that is still in DRAM only
};

class Communicator {
 public:
  Communicator(const Step& step, const StepFactors& factors, const Partition& partition, const Fabric& fabric)
      : step_(step),
        graph_(*step.graph),
        factors_(factors),
        partition_(partition),
        host_(fabric.shared_memory) {
    out_.micro_batches = partition.choices.micro_batches;
  }

  Communication run() {
    for (std::size_t i = 0; i < step_.programs.size(); ++i) {
      program_ = i;
      holdings_.clear();
      out_.programs.emplace_back();
      for (ValueId source : program().sources) hold_source(source);
      for (std::size_t p = 0; p < program().order.size(); ++p) place_op(p);
      ops().first_operand.push_back(static_cast<std::uint32_t>(ops().operands.size()));
      for (const Program::Fetch& fetch : program().fetches) place_fetch(fetch);
      for (const Program::Assignment& a : program().assignments) place_commit(a);
    }
    return std::move(out_);
  }

 private:
  const Program& program() const { return step_.programs[program_]; }
  const ProgramPartition& cuts() const { return partition_.programs[program_]; }
  ProgramCommunication& ops() { return out_.programs[program_]; }
  bool micro() const { return out_.micro_batches_of(program()) > 1; }

  bool follows_batch(ValueId value) const {
    const AxisTags& axes = graph_.values[value].axes;
    return program().batch_axis >= 0 &&
           std::find(axes.begin(), axes.end(), static_cast<std::int16_t>(program().batch_axis)) != axes.end();
  }

  // A cut into one part is no cut.
  ValueCut effective(ValueCut cut) const {
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      if (partition_.parts[dir] == 1) cut[dir] = -1;
    }
    return cut;
  }

  BufferId add_buffer(ValueId value, ValueCut cut, Buffer::Use use, Space space) {
    const bool persistent = use == Buffer::Use::variable || use == Buffer::Use::constant;
    const bool whole = persistent || use == Buffer::Use::feed || use == Buffer::Use::fetch;
    out_.buffers.push_back({value, effective(cut), !whole && micro() && follows_batch(value), space, use,
                            persistent ? kNone : static_cast<std::uint32_t>(program_)});
    return static_cast<BufferId>(out_.buffers.size() - 1);
  }

  Space block_space() const { return host_ ? Space::dram : Space::sram; }

  BufferId persistent(ValueId value) {
    const auto known = persistent_.find(value);
    if (known != persistent_.end()) return known->second;
    const bool variable = graph_.nodes[graph_.values[value].node].kind == NodeKind::variable;
    const BufferId buffer =
        add_buffer(value, cuts().produced[value], variable ? Buffer::Use::variable : Buffer::Use::constant,
                   block_space());
    persistent_[value] = buffer;
    return buffer;
  }

  void hold_source(ValueId value) {
    Holding& holding = holdings_[value];
    holding.source = true;
    if (graph_.nodes[graph_.values[value].node].kind != NodeKind::input) {
      holding.versions.push_back(persistent(value));
      return;
    }
    const BufferId feed = add_buffer(value, kWhole, Buffer::Use::feed, Space::dram);
    ops().feeds.push_back(feed);
    ops().feed_values.push_back(value);
    if (host_) {
      holding.versions.push_back(feed);
    } else {
      holding.feed = feed;
    }
  }

  // Where something that moves `value` for op p belongs: at p, unless that would repeat it for each
  // micro-batch.
  void add_transfer(Transfer transfer, ValueId value, const Holding& holding, std::size_t p) {
    const Region reader = program().region[p];
    const bool once = reader == Region::body && !follows_batch(value) && holding.region == Region::prologue;
    transfer.region = once ? Region::prologue : reader == Region::commit ? Region::epilogue : reader;
    transfer.before = transfer.region == reader ? static_cast<std::uint32_t>(p) : kNone;
    ops().transfers.push_back(transfer);
  }

  TransferKind load_kind(const ValueCut& cut) const {
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      if (partition_.parts[dir] > 1 && cut[dir] < 0) return TransferKind::broadcast;
    }
    return TransferKind::send;
  }

  // A buffer whose blocks hold what `need` asks for; moves the value where none does.
  BufferId read(ValueId value, ValueCut need, std::size_t p) {
    Holding& holding = holdings_.at(value);
    if (holding.feed != kNone) {
      const BufferId to = add_buffer(value, cuts().produced[value], Buffer::Use::temporary, Space::sram);
      add_transfer({load_kind(out_.buffers[to].cut), holding.feed, to, -1, {}, kNone}, value, holding, p);
      holding.versions.push_back(to);
      holding.feed = kNone;
    }
    if (holding.chain >= 0) {
      const BufferId sum = holding.versions[0];
      add_transfer({TransferKind::all_reduce, sum, sum, holding.chain, {}, kNone}, value, holding, p);
      holding.chain = -1;
    }
    need = effective(need);
    const auto serves = [&](BufferId id) {
      const ValueCut& cut = out_.buffers[id].cut;
      return (cut[0] < 0 || cut[0] == need[0]) && (cut[1] < 0 || cut[1] == need[1]);
    };
    const auto found = std::find_if(holding.versions.begin(), holding.versions.end(), serves);
    if (found != holding.versions.end()) return *found;
    ValueCut cut = out_.buffers[holding.versions[0]].cut;
    for (std::size_t dir = 0; dir < kDirections; ++dir) {
      if (cut[dir] != need[dir]) cut[dir] = -1;
    }
    const BufferId to = add_buffer(value, cut, Buffer::Use::temporary, Space::sram);
    add_transfer({TransferKind::all_gather, holding.versions[0], to, -1, {}, kNone}, value, holding, p);
    holding.versions.push_back(to);
    return to;
  }

  BufferId result_buffer(ValueId value, Region region) {
    if (region == Region::commit) {
      for (const Program::Assignment& a : program().assignments) {
        if (a.value == value && a.in_place && cuts().produced[value] == cuts().produced[a.variable]) {
          return persistent(a.variable);
        }
      }
    }
    bool fetched = false;
    for (const Program::Fetch& fetch : program().fetches) fetched = fetched || fetch.value == value;
    return add_buffer(value, cuts().produced[value],
                      host_ && fetched ? Buffer::Use::fetch : Buffer::Use::temporary, block_space());
  }

  void place_op(std::size_t p) {
    const Node& node = graph_.nodes[program().order[p]];
    const ProgramFactors& factors = factors_.programs[program_];
    ops().first_operand.push_back(static_cast<std::uint32_t>(ops().operands.size()));
    std::uint32_t at = factors.first_outer[p];
    for (ValueId value : graph_.inputs_of(node)) {
      const int rank = graph_.values[value].type.shape.rank();
      ops().operands.push_back(read(value, needed_cut(factors, cuts().factor[p], at, rank), p));
      at += static_cast<std::uint32_t>(rank);
    }
    for (std::uint32_t r = 0; r < node.values; ++r) {
      Holding& holding = holdings_[node.first_value + r];
      holding.region = program().region[p];
      holding.chain = cuts().chain[p];
      holding.versions.push_back(result_buffer(node.first_value + r, program().region[p]));
      ops().operands.push_back(holding.versions[0]);
    }
  }

  void place_fetch(const Program::Fetch& fetch) {
    Holding& holding = holdings_.at(fetch.value);
    if (!holding.versions.empty() && out_.buffers[holding.versions[0]].use == Buffer::Use::fetch) {
      ops().fetches.push_back(holding.versions[0]);
      return;
    }
    const BufferId to = add_buffer(fetch.value, kWhole, Buffer::Use::fetch, Space::dram);
    const BufferId from = holding.feed != kNone ? holding.feed : holding.versions[0];
    Transfer transfer{host_ || holding.feed != kNone ? TransferKind::copy : TransferKind::send,
                      from,
                      to,
                      holding.chain,
                      Region::epilogue,
                      kNone};
    if (holding.chain >= 0) transfer.kind = TransferKind::reduce;
    if (follows_batch(fetch.value) && out_.buffers[from].micro) transfer.region = Region::body;
    ops().transfers.push_back(transfer);
    ops().fetches.push_back(to);
  }

  void place_commit(const Program::Assignment& a) {
    Holding& holding = holdings_.at(a.value);
    const BufferId to = persistent(a.variable);
    if (!holding.versions.empty() && holding.versions[0] == to) return;
    if (holding.feed != kNone) holding.versions.push_back(holding.feed);
    const BufferId from = holding.versions[0];
    const bool same =
        out_.buffers[from].cut == out_.buffers[to].cut && holding.chain < 0 && holding.feed == kNone;
    ops().transfers.push_back({same ? TransferKind::copy : TransferKind::all_gather, from, to, holding.chain,
                               Region::commit, kNone});
  }

  const Step& step_;
  const GraphData& graph_;
  const StepFactors& factors_;
  const Partition& partition_;
  bool host_;
  std::size_t program_ = 0;
  std::unordered_map<ValueId, Holding> holdings_;
  std::unordered_map<ValueId, BufferId> persistent_;
  Communication out_;
};

std::string cut_text(const ValueCut& cut) {
  std::string out;
  for (std::size_t dir = 0; dir < kDirections; ++dir) {
    if (cut[dir] >= 0)
      out += std::string(" dim ") + std::to_string(cut[dir]) + (dir == 0 ? " by rows" : " by columns");
  }
  return out.empty() ? " whole" : out;
}

}  // namespace

Communication communicate(const Step& step, const StepFactors& factors, const Partition& partition,
                          const Fabric& fabric) {
  return Communicator(step, factors, partition, fabric).run();
}

void Communication::verify(const Step& step, const StepFactors& factors, const Partition& partition) const {
  const GraphData& graph = *step.graph;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Program& program = step.programs[i];
    const ProgramCommunication& ops = programs[i];
    std::vector<bool> summed(buffers.size(), true);  // false while only a chain's last block holds the sum
    std::vector<std::vector<const Transfer*>> before(program.order.size());
    std::vector<const Transfer*> at_end[kRegions];
    for (const Transfer& t : ops.transfers) {
      if (t.before != kNone) {
        before[t.before].push_back(&t);
      } else {
        at_end[static_cast<std::size_t>(t.region)].push_back(&t);
      }
    }
    std::size_t region = 0;
    const auto apply = [&](const Transfer* t) {
      if (!summed[t->from] && t->chain < 0) throw InternalError("a sum is read before it is complete");
      summed[t->to] = true;
    };
    for (std::size_t p = 0; p < program.order.size(); ++p) {
      for (; region < static_cast<std::size_t>(program.region[p]); ++region) {
        for (const Transfer* t : at_end[region]) apply(t);
      }
      for (const Transfer* t : before[p]) apply(t);
      const Node& node = graph.nodes[program.order[p]];
      std::uint32_t at = factors.programs[i].first_outer[p];
      for (std::uint32_t k = 0; k < node.inputs + node.values; ++k) {
        const ValueId value =
            k < node.inputs ? graph.inputs[node.first_input + k] : node.first_value + (k - node.inputs);
        const int rank = graph.values[value].type.shape.rank();
        const BufferId id = ops.operands[ops.first_operand[p] + k];
        for (std::size_t dir = 0; dir < kDirections; ++dir) {
          const std::int8_t held = buffers[id].cut[dir], factor = partition.programs[i].factor[p][dir];
          if (held < 0) continue;
          const bool fits = held < rank && factor >= 0 &&
                            factors.programs[i].outer[at + static_cast<std::uint32_t>(held)] == factor;
          if (!fits)
            throw InternalError(graph.where(program.order[p]) + " reads what its block does not hold");
        }
        if (k < node.inputs && !summed[id])
          throw InternalError(graph.where(program.order[p]) + " reads an open sum");
        if (k >= node.inputs) summed[id] = partition.programs[i].chain[p] < 0;
        at += static_cast<std::uint32_t>(rank);
      }
    }
    for (; region < kRegions; ++region) {
      for (const Transfer* t : at_end[region]) apply(t);
    }
  }
}

std::string Communication::dump(const Step& step) const {
  std::string out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out += "step '" + step.programs[i].name + "' micro-batches " +
           std::to_string(micro_batches_of(step.programs[i])) + "\n";
    for (const Transfer& t : programs[i].transfers) {
      const Buffer &from = buffers[t.from], &to = buffers[t.to];
      out += "  " + std::string(wafer::name_of(t.region)) + " " + std::string(name_of(t.kind)) + " " +
             step.graph->where(step.graph->values[from.value].node) + " " +
             text_of(step.graph->values[from.value].type) + ":" + cut_text(from.cut) + " ->" +
             cut_text(to.cut);
      if (t.chain >= 0) out += t.chain == 0 ? ", chain along rows" : ", chain along columns";
      out += "\n";
    }
  }
  return out;
}

}  // namespace wafer::inline v0
