// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/step_name.hpp"
#include "runtime/names.hpp"
#include "runtime/session_state.hpp"

#include <wafer/error.hpp>
#include <wafer/io/safetensors.hpp>
#include <wafer/runtime/session.hpp>

#include <algorithm>

namespace wafer::inline v0 {

namespace {

std::string cpp_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::i32: return "std::int32_t";
    case DType::boolean: return "bool";
  }
  return "?";
}

}  // namespace

double FetchedTensor::scalar() const {
  if (type_.shape.size() != 1) {
    throw RunError("result '" + std::string(name_) + "': expected one element, got " + text_of(type_));
  }
  switch (type_.dtype) {
    case DType::f32: return static_cast<double>(*static_cast<const float*>(data_));
    case DType::f64: return *static_cast<const double*>(data_);
    case DType::i32: return static_cast<double>(*static_cast<const std::int32_t*>(data_));
    case DType::boolean: return *static_cast<const bool*>(data_) ? 1 : 0;
  }
  return 0;
}

void FetchedTensor::check(DType asked) const {
  if (asked != type_.dtype) {
    throw RunError("result '" + std::string(name_) + "' is " + text_of(type_) + ": expected to be read as " +
                   cpp_type_of(type_.dtype) + ", got a read as " + cpp_type_of(asked));
  }
}

FetchedTensor Result::operator[](std::string_view name) const {
  if (!state_)
    throw RunError("result '" + std::string(name) + "': expected one of a step, got an empty handle");
  if (generation_ != state_->generation) {
    throw RunError("result '" + std::string(name) +
                   "': expected one of the session's last step, got one of " +
                   step_text(state_->data->programs[program_].name) +
                   " that is stale: another step has begun since (one that throws counts too)");
  }
  const ExecutableData& data = *state_->data;
  for (const FetchRecord& fetch : data.programs[program_].fetches) {
    if (fetch.name != name) continue;
    const BufferRecord& buffer = data.buffers[fetch.buffer];
    const BufferView view(data, fetch.buffer, Grid{data.parts, 1}, Place{}, state_->run.axes);
    std::array<Index, kMaxRank> extents{};
    for (int d = 0; d < buffer.rank; ++d)
      extents[static_cast<std::size_t>(d)] = view.held().range[static_cast<std::size_t>(d)].size();
    const Shape shape(std::span<const Index>(extents.data(), static_cast<std::size_t>(buffer.rank)));
    return FetchedTensor(state_->run.dram.data() + buffer.offset, {buffer.dtype, shape}, fetch.name);
  }
  throw RunError("result '" + std::string(name) + "': expected what " +
                 step_text(data.programs[program_].name) + " fetches, " +
                 one_of(data.programs[program_].fetches, &FetchRecord::name) + ", got another name");
}

Session::Session(Executable executable, SessionOptions options)
    : state_(std::make_shared<SessionState>(executable.data(), options)) {}

Result Session::step(StepHandle handle, std::span<const Feed> feeds, StopRequest stop) {
  const auto program = static_cast<std::size_t>(handle.index);
  if (handle.executable != state_->data.get() || program >= state_->data->programs.size()) {
    throw RunError("step: expected a handle of this session's executable, got another's or an empty one");
  }
  const BusyGuard guard(*state_);
  ++state_->generation;
  state_->take_feeds(program, feeds);
  RunState& run = state_->run;
  ++run.step;
  try {
    state_->executor->run(program, stop);
  } catch (...) {
    --run.step;
    throw;
  }
  if (!state_->data->programs[program].trains) --run.step;
  state_->settle_fetches(program);
  Result result;
  result.state_ = state_;
  result.program_ = program;
  result.generation_ = state_->generation;
  return result;
}

Result Session::step(std::string_view name, std::span<const Feed> feeds, StopRequest stop) {
  return step(bind_step(name), feeds, stop);
}
Result Session::step(std::string_view name, std::initializer_list<Feed> feeds, StopRequest stop) {
  return step(bind_step(name), std::span<const Feed>(feeds.begin(), feeds.size()), stop);
}
Result Session::step(StepHandle handle, std::initializer_list<Feed> feeds, StopRequest stop) {
  return step(handle, std::span<const Feed>(feeds.begin(), feeds.size()), stop);
}
Result Session::step(std::initializer_list<Feed> feeds, StopRequest stop) {
  if (state_->data->programs.size() != 1) {
    throw RunError("step: expected the name of one of " + std::to_string(state_->data->programs.size()) +
                   " steps, " + one_of(state_->data->programs, &ProgramRecord::name) + ", got none");
  }
  return step(StepHandle{0, state_->data.get()}, std::span<const Feed>(feeds.begin(), feeds.size()), stop);
}

InputHandle Session::bind(std::string_view input) const {
  const auto at = std::find(state_->inputs.begin(), state_->inputs.end(), input);
  if (at == state_->inputs.end()) {
    throw RunError("input '" + std::string(input) + "': expected what a step reads, " +
                   one_of({state_->inputs.begin(), state_->inputs.end()}) + ", got another name");
  }
  return {static_cast<int>(at - state_->inputs.begin()), state_->data.get()};
}

StepHandle Session::bind_step(std::string_view step) const {
  return {static_cast<int>(state_->program_index(step)), state_->data.get()};
}

std::vector<VariableDescription> Session::variables() const {
  std::vector<VariableDescription> out;
  for (const VariableRecord& variable : state_->data->variables) {
    out.push_back({variable.path, state_->shape_of(variable.buffer), variable.trained});
  }
  return out;
}

Shape Session::shape(std::string_view path) const { return state_->shape_of(state_->variable(path).buffer); }

namespace {

std::vector<float> values_of(const SessionState& state, std::uint32_t buffer) {
  std::vector<float> values(static_cast<std::size_t>(state.shape_of(buffer).size()));
  state.read(buffer, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

}  // namespace

std::vector<float> Session::get(std::string_view path) const {
  const BusyGuard guard(*state_);
  return values_of(*state_, state_->variable(path).buffer);
}

void Session::set(std::string_view path, std::span<const float> values) {
  const BusyGuard guard(*state_);
  const VariableRecord& variable = state_->variable(path);
  const Shape shape = state_->shape_of(variable.buffer);
  if (static_cast<Index>(values.size()) != shape.size()) {
    throw RunError("parameter '" + std::string(path) + "': expected " + std::to_string(shape.size()) +
                   " elements for " + shape.text() + ", got " + std::to_string(values.size()));
  }
  state_->write(variable.buffer, reinterpret_cast<const std::byte*>(values.data()));
}

void Session::save(const std::string& path) const {
  const BusyGuard guard(*state_);  // over all of them: no step in between
  std::vector<std::vector<float>> values;
  std::vector<io::Entry> entries;
  for (const VariableRecord& variable : state_->data->variables) {
    if (!variable.trained) continue;
    values.push_back(values_of(*state_, variable.buffer));
    const Shape shape = state_->shape_of(variable.buffer);
    entries.push_back({variable.path,
                       DType::f32,
                       {shape.begin(), shape.end()},
                       std::as_bytes(std::span<const float>(values.back()))});
  }
  io::write_safetensors(path, entries);
}

void Session::load(const std::string& path) {
  const io::SafetensorsFile file(path);
  const std::string at = "file '" + path + "': ";
  const BusyGuard guard(*state_);
  std::vector<std::pair<std::uint32_t, const io::Entry*>> found;
  for (const VariableRecord& variable : state_->data->variables) {
    if (!variable.trained) continue;
    const io::Entry* entry = file.find(variable.path);
    const Shape shape = state_->shape_of(variable.buffer);
    if (!entry) throw UserError(at + "expected parameter '" + variable.path + "', got a file without it");
    const bool same = std::equal(entry->shape.begin(), entry->shape.end(), shape.begin(), shape.end());
    if (!same || entry->dtype != DType::f32) {
      std::string got = std::string(wafer::name_of(entry->dtype)) + "[";
      for (std::size_t d = 0; d < entry->shape.size(); ++d)
        got += (d ? ", " : "") + std::to_string(entry->shape[d]);
      throw UserError(at + "expected parameter '" + variable.path + "' as f32" + shape.text() + ", got " +
                      got + "]");
    }
    found.emplace_back(variable.buffer, entry);
  }
  if (found.size() != file.entries().size()) {
    for (const io::Entry& entry : file.entries()) {
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const auto& f) { return f.second == &entry; });
      if (!known) throw UserError(at + "expected parameters of the plan only, got '" + entry.name + "'");
    }
  }
  for (const auto& [buffer, entry] : found) state_->write(buffer, entry->data.data());
}

Index Session::steps() const {
  const BusyGuard guard(*state_);
  return state_->run.step;
}
std::vector<TraceEvent> Session::trace() const {
  const BusyGuard guard(*state_);
  return state_->executor->trace();
}
Index Session::threads() const { return state_->executor->threads(); }
Plan Session::plan() const { return Plan(state_->data); }

}  // namespace wafer::inline v0
