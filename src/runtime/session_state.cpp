// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_state.hpp"

#include "core/float_environment.hpp"
#include "core/initialize.hpp"
#include "runtime/names.hpp"

#include <wafer/core/cpus.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <cstring>

namespace wafer::inline v0 {

namespace {

constexpr Index kMostThreads = 1024;  // more are a mistake

// `planned`: more threads would make the steps slower.
int threads_of(const SessionOptions& options, Index planned) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    throw RunError("threads: expected 1 to " + std::to_string(kMostThreads) +
                   ", or 0 for the CPUs at hand, got " + std::to_string(options.threads));
  }
  if ((options.arena.arena == nullptr) != (options.arena.execute == nullptr))
    throw RunError("arena: expected one as in(arena) of wafer/bridge/tbb.hpp gives it, got half of one");
  if (options.threads > 0) return static_cast<int>(options.threads);
  const Index cpus = options.arena.arena != nullptr ? options.arena.concurrency : available_cpus();
  return static_cast<int>(std::clamp(cpus, Index{1}, planned));
}

Arena make_arena(Index bytes, std::optional<std::uint8_t> fill) {
  Arena arena(bytes);
  if (fill && bytes > 0) std::memset(arena.mapping().data(), *fill, arena.mapping().size());
  return arena;
}

// Calls f(box, memory) for the piece of a persistent buffer in each arena.
template <class F>
void for_each_piece(const SessionState& state, std::uint32_t buffer, F&& f) {
  const ExecutableData& data = *state.data;
  const Grid grid{data.parts, 1};
  const bool dram = data.buffers[buffer].space == Space::dram;
  std::vector<Index> greatest;
  for (const Axis& axis : data.axes) greatest.push_back(axis.extent);
  for (Index block = 0; block < (dram ? 1 : data.blocks()); ++block) {
    const Place place{{block / data.parts[1], block % data.parts[1]}, 0};
    const BufferView view(data, buffer, grid, place, greatest);
    std::byte* arena =
        dram ? state.run.dram.data() : state.run.blocks[static_cast<std::size_t>(block)].data();
    f(view.held(), view.at(view.held(), arena));
  }
}

StridedBox dense_box(const Shape& shape, const Box& box, std::byte* data, Index size) {
  StridedBox out;
  Index stride = 1, offset = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    out.stride[i] = stride;
    offset += box.range[i].begin * stride;
    stride *= shape[d];
  }
  out.data = data + offset * size;
  return out;
}

void initialize_variable(SessionState& state, const VariableRecord& variable) {
  std::vector<float> values(static_cast<std::size_t>(state.shape_of(variable.buffer).size()));
  initialize(variable.init, variable.path, state.run.seed, 0, values);
  state.write(variable.buffer, reinterpret_cast<const std::byte*>(values.data()));
}

// Not where the buffer itself is moved, or looked at after the step.
bool only_ops_read(const ProgramRecord& program, std::uint32_t buffer) {
  return std::none_of(program.actions.begin(), program.actions.end(),
                      [&](const ActionRecord& action) {
                        return action.kind == ActionKind::transfer && action.from == buffer;
                      }) &&
         std::none_of(program.fetches.begin(), program.fetches.end(),
                      [&](const FetchRecord& fetch) { return fetch.buffer == buffer; });
}

}  // namespace

SessionState::SessionState(std::shared_ptr<const ExecutableData> executable, const SessionOptions& options,
                           std::optional<std::uint8_t> fill)
    : data(std::move(executable)) {
  const int threads = threads_of(options, data->workers);
  run.seed = options.seed;
  run.dram = make_arena(data->dram_bytes, fill);
  if (!data->host) {
    for (Index b = 0; b < data->blocks(); ++b) run.blocks.push_back(make_arena(data->sram_bytes, fill));
  }
  run.scratch = make_arena(data->worker_bytes() * threads, fill);
  run.axes.resize(data->axes.size());
  run.lent.resize(data->buffers.size());
  for (const ProgramRecord& program : data->programs) {
    for (const FeedRecord& feed : program.feeds) {
      if (std::find(inputs.begin(), inputs.end(), feed.name) == inputs.end()) inputs.push_back(feed.name);
    }
  }
  std::size_t most = 0;
  for (const ProgramRecord& program : data->programs) {
    std::vector<int>& of = feed_of_input.emplace_back(inputs.size(), -1);
    for (std::size_t f = 0; f < program.feeds.size(); ++f) {
      const auto at = std::find(inputs.begin(), inputs.end(), program.feeds[f].name);
      of[static_cast<std::size_t>(at - inputs.begin())] = static_cast<int>(f);
    }
    std::vector<bool>& can_lend = lendable.emplace_back();
    for (const FeedRecord& feed : program.feeds) can_lend.push_back(only_ops_read(program, feed.buffer));
    most = std::max(most, program.feeds.size());
  }
  fed.resize(most);
  const DefaultFloats floats;
  for (const VariableRecord& variable : data->variables) initialize_variable(*this, variable);
  for (const ConstantRecord& constant : data->constants) write(constant.buffer, constant.bytes.data());
  executor = std::make_unique<Executor>(*data, run, threads, options);
}

std::size_t SessionState::program_index(std::string_view name) const {
  for (std::size_t i = 0; i < data->programs.size(); ++i) {
    if (data->programs[i].name == name) return i;
  }
  if (data->programs.size() == 1 && data->programs.front().name.empty()) {
    throw RunError("step '" + std::string(name) +
                   "': expected a call without a name, since this executable's only step has none, got one");
  }
  throw RunError("step '" + std::string(name) + "': expected " +
                 one_of(data->programs, &ProgramRecord::name) + ", got another name");
}

const VariableRecord& SessionState::variable(std::string_view path) const {
  for (const VariableRecord& variable : data->variables) {
    if (variable.path == path) return variable;
  }
  throw RunError("parameter '" + std::string(path) + "': expected " +
                 one_of(data->variables, &VariableRecord::path) + ", got another path");
}

Shape SessionState::shape_of(std::uint32_t buffer) const {
  const BufferRecord& record = data->buffers[buffer];
  std::array<Index, kMaxRank> extents{};
  for (int d = 0; d < record.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    extents[i] = data->dims[record.first_dim + i].division.extent;
  }
  return Shape(std::span<const Index>(extents.data(), static_cast<std::size_t>(record.rank)));
}

void SessionState::read(std::uint32_t buffer, std::byte* dense) const {
  const Shape shape = shape_of(buffer);
  const Index size = size_of(data->buffers[buffer].dtype);
  for_each_piece(*this, buffer, [&](const Box& box, const StridedBox& memory) {
    copy_box(box, size, memory, dense_box(shape, box, dense, size));
  });
}

void SessionState::write(std::uint32_t buffer, const std::byte* dense) {
  const Shape shape = shape_of(buffer);
  const Index size = size_of(data->buffers[buffer].dtype);
  for_each_piece(*this, buffer, [&](const Box& box, const StridedBox& memory) {
    copy_box(box, size, dense_box(shape, box, const_cast<std::byte*>(dense), size), memory);
  });
}

BusyGuard::BusyGuard(SessionState& state) : state_(state) {
  if (state_.busy.exchange(true, std::memory_order_acq_rel)) {
    throw RunError("session: expected one call at a time, got a second one while a step runs");
  }
}
BusyGuard::~BusyGuard() { state_.busy.store(false, std::memory_order_release); }

}  // namespace wafer::inline v0
