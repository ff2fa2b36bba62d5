// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/shape.hpp>
#include <wafer/runtime/executable.hpp>
#include <wafer/runtime/host_arena.hpp>
#include <wafer/runtime/stop_request.hpp>
#include <wafer/runtime/trace.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// An input of a session's steps, looked up once: `session.bind("image")`. It serves all sessions of the same
/// executable, and no others.
struct InputHandle {
  int index = -1;
  const void* executable = nullptr;
};

/// A named step of a session, looked up once: `session.bind_step("train")`. As for inputs.
struct StepHandle {
  int index = -1;
  const void* executable = nullptr;
};

/// A name (or handle) and a view of f32 or i32 that is read during the call only, while nobody may write it:
/// large ones are not copied. A flat buffer says how long the one run-time axis is; where more than one is
/// unknown, give the shape.
struct Feed {
  Feed(std::string_view to, std::span<const float> values)
      : name(to), data(values.data()), size(count(values)) {}
  Feed(std::string_view to, std::span<const std::int32_t> values)
      : name(to), dtype(DType::i32), data(values.data()), size(count(values)) {}
  Feed(InputHandle to, std::span<const float> values)
      : handle(to), data(values.data()), size(count(values)) {}
  Feed(InputHandle to, std::span<const std::int32_t> values)
      : handle(to), dtype(DType::i32), data(values.data()), size(count(values)) {}
  template <class To, class Values>
  Feed(const To& to, const Values& values, const Shape& given) : Feed(to, std::span(values)) {
    shape = given;
  }

  std::string_view name;
  InputHandle handle;
  DType dtype = DType::f32;
  const void* data = nullptr;
  Index size = 0;
  std::optional<Shape> shape;

 private:
  template <class T>
  static Index count(std::span<const T> values) {
    return static_cast<Index>(values.size());
  }
};

/// One fetched tensor: a view of planned memory, valid until the session's next step.
class FetchedTensor {
 public:
  FetchedTensor(const void* data, TensorType type, std::string_view name)
      : data_(data), type_(type), name_(name) {}
  /// The name that it was fetched under.
  std::string_view name() const { return name_; }
  const TensorType& type() const { return type_; }
  /// Run-time extents.
  const Shape& shape() const { return type_.shape; }
  /// The one element, of any dtype. Throws RunError where there is not exactly one.
  double scalar() const;
  /// The elements, row-major. Throws RunError where T is another type: float, double, std::int32_t, bool.
  template <class T>
  std::span<const T> values() const {
    check(dtype_of<T>);
    return {static_cast<const T*>(data_), static_cast<std::size_t>(type_.shape.size())};
  }

 private:
  void check(DType asked) const;
  const void* data_;
  TensorType type_;
  std::string_view name_;
};

/// What a step fetched, by name. It shares the session's memory, and is stale after the session's next step.
class Result {
 public:
  /// Throws RunError for a name that was not fetched, and where another step has begun since, even one that
  /// threw.
  FetchedTensor operator[](std::string_view name) const;

 private:
  friend class Session;
  std::shared_ptr<struct SessionState> state_;
  std::size_t program_ = 0;
  std::uint64_t generation_ = 0;
};

/// What runs is chosen at the session.
struct SessionOptions {
  /// Worker threads, the caller included; 0: those that the plan was made for, but no more than the CPUs that
  /// this process may use. More than there are CPUs, up to 1024, gives exactly that many, by a
  /// tbb::global_control that counts for the whole process while the session lives. In a child process (fork)
  /// the session goes on with the caller's thread alone.
  Index threads = 0;
  /// Keys initial parameters and random ops.
  std::uint64_t seed = 0;
  /// Notes when each tile ran; see TraceEvent.
  bool trace = false;
  /// Keeps oneTBB's threads on one CPU each while they work for the session, within the affinity that the
  /// process has now. Never the caller's thread, nor those of a host's arena. Off by default: it gains
  /// nothing on CPUs of one's own, and loses beside other busy processes.
  bool pin = false;
  /// A host's own arena to work in, as wafer/bridge/tbb.hpp gives it; `threads` 0 is then what the plan was
  /// made for, but no more than the arena's number.
  HostArena arena{};
};

/// Name, shape and role of a variable.
struct VariableDescription {
  std::string path;
  Shape shape;
  bool trained = true;  ///< false: an optimizer's state
};

/// Runs the steps of an executable on memory of its own. A step is a transaction: where it throws, nothing
/// has changed, and the session goes on. One thread at a time may use a session (a second one gets a
/// RunError); sessions are independent of each other, and may share an executable.
class Session {
 public:
  /// Maps the planned memory, and fills parameters with their initial values. Throws RunError for options
  /// that cannot be met.
  explicit Session(Executable executable, SessionOptions options = {});
  Session(const Session&) = default;  // the same session, and no moves: what was moved from is valid
  Session& operator=(const Session&) = default;

  /// Runs one step. Throws RunError for feeds that are missing, unknown, of another dtype or size, or that
  /// disagree on an axis; for what kernels find (labels out of range); and where `stop` is requested before
  /// the step commits. Exceptions of user ops reach the caller as they are.
  ///
  /// A training step on 0 rows is a step like any other: a loss that is a mean over rows is NaN, gradients
  /// are sums over no rows and so 0, the optimizer does its update (momentum and weight decay act), and
  /// `steps` counts it.
  Result step(std::string_view name, std::span<const Feed> feeds, StopRequest stop = {});
  Result step(StepHandle step, std::span<const Feed> feeds, StopRequest stop = {});
  Result step(std::string_view name, std::initializer_list<Feed> feeds, StopRequest stop = {});
  Result step(StepHandle step, std::initializer_list<Feed> feeds, StopRequest stop = {});
  /// The same where there is only one step. Throws RunError otherwise.
  Result step(std::initializer_list<Feed> feeds, StopRequest stop = {});

  /// Throw RunError for a name that no step has.
  InputHandle bind(std::string_view input) const;
  StepHandle bind_step(std::string_view step) const;

  /// All variables, in the order of the plan.
  std::vector<VariableDescription> variables() const;
  /// The shape of one. Throws RunError for an unknown path.
  Shape shape(std::string_view path) const;
  /// A variable's elements, row-major ("fc1.weight", "optimizer.fc1.weight.m"). Throws RunError for an
  /// unknown path.
  std::vector<float> get(std::string_view path) const;
  /// Replaces them. Throws RunError for an unknown path or another number of elements.
  void set(std::string_view path, std::span<const float> values);
  /// The parameters as safetensors, under their paths. Throws UserError where the file cannot be written;
  /// then the one that was there is intact.
  void save(const std::string& path) const;
  /// Reads them back. Throws UserError, having changed nothing, unless the file holds exactly these
  /// parameters.
  void load(const std::string& path);

  /// Steps that trained, so far.
  Index steps() const;
  /// Worker threads, the caller included: what was asked for, or what 0 stood for. A step runs on fewer where
  /// oneTBB lends fewer.
  Index threads() const;
  /// What the last step did, tile by tile, in the order of their end; empty unless the session was asked to
  /// trace.
  std::vector<TraceEvent> trace() const;
  Plan plan() const;

  const std::shared_ptr<SessionState>& state() const { return state_; }

 private:
  std::shared_ptr<SessionState> state_;
};

}  // namespace wafer::inline v0
