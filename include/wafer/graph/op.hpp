// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/tile.hpp>
#include <wafer/graph/attribute.hpp>
#include <wafer/graph/axes_rule.hpp>
#include <wafer/graph/tensor.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// Work of one call, for the cost model.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// Which result may take which input's memory; the op reads an element before it writes that element.
struct AliasPair {
  int result = 0;
  int input = 0;
};
using Alias = std::vector<AliasPair>;

/// A compiled kernel; `op` points to the op struct itself.
struct Kernel {
  using Run = void(const void* op, const Context& context, Tiles in, Tiles out);
  Run* run = nullptr;
  Index scratch_bytes = 0;  ///< that `Context::scratch` must hold, for each worker
  bool runs_tail = false;   ///< calls `Context::tail`, where one is set, for each piece of its result
  /// Operands (bit k: the k-th of inputs, then results) that may be stored in panels (Tile::panelled), one at
  /// a time.
  std::uint32_t takes_panels = 0;
};
/// Best first; the plain reference `run` follows by itself.
using Kernels = std::vector<Kernel>;

/// What takes an op is constrained on its name alone (a static one: layers may have a member of that name);
/// everything else is asserted with a message of its own.
template <class T>
concept Op = requires {
  typename std::bool_constant<!std::string_view(T::name).empty()>;
};

/// What the library knows of a type of ops: its functions, erased. One constant for each type.
struct OpModel {
  std::string_view name;
  std::string_view
      type_name;  ///< of the C++ type, as the compiler spells it: two types of one name are found out
  bool can_fail =
      true;  ///< whether a kernel may throw; `static constexpr bool can_fail = false` says it cannot
  std::vector<Attribute> (*attributes)(const void*) = nullptr;
  Types (*infer)(const void*, const Types&) = nullptr;
  AxesRule (*axes)(const void*, const Types&) = nullptr;
  Kernel::Run* run = nullptr;
  Gradients (*gradient)(const void*, Inputs, Outputs, Cotangents) = nullptr;  // null: not differentiable
  Cost (*cost)(const void*, const Types&) = nullptr;                          // null: from the axes rule
  Alias (*alias)(const void*, const Types&) = nullptr;                        // null: none
  Kernels (*kernels)(const void*, const Types&) = nullptr;                    // null: only the reference
};

namespace detail {

template <class T>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

template <class T>
concept HasAttributes = requires {
  T::attributes();
};
template <class T>
concept HasInfer = requires(const T& op, const Types& in) {
  { op.infer(in) } -> std::same_as<Types>;
};
template <class T>
concept HasAxes = requires(const T& op, const Types& in) {
  { op.axes(in) } -> std::same_as<AxesRule>;
};
template <class T>
concept HasRun = requires(const T& op, const Context& context, Tiles tiles) {
  { op.run(context, tiles, tiles) } -> std::same_as<void>;
};
template <class T>
concept HasGradient = requires(const T& op, Inputs tensors) {
  { op.gradient(tensors, tensors, tensors) } -> std::same_as<Gradients>;
};
template <class T>
concept HasCost = requires(const T& op, const Types& in) {
  { op.cost(in) } -> std::same_as<Cost>;
};
template <class T>
concept HasAlias = requires(const T& op, const Types& in) {
  { op.alias(in) } -> std::same_as<Alias>;
};
template <class T>
concept HasKernels = requires(const T& op, const Types& in) {
  { op.kernels(in) } -> std::same_as<Kernels>;
};

template <Op T>
constexpr void assert_op() {
  static_assert(std::is_default_constructible_v<T> && std::is_aggregate_v<T>,
                "an op is a default-constructible aggregate");
  static_assert(
      HasAttributes<T>,
      "an op has `static constexpr auto attributes() { return std::tuple{attr(\"low\", &T::low), ...}; }`");
  if constexpr (HasAttributes<T>) {
    static_assert(member_count<T>() == static_cast<int>(std::tuple_size_v<decltype(T::attributes())>),
                  "every member of an op is an attribute: list each of them in `attributes()`");
  }
  static_assert(HasInfer<T>, "an op has `Types infer(const Types& in) const`");
  static_assert(HasAxes<T>, "an op has `AxesRule axes(const Types& in) const`");
  static_assert(HasRun<T>, "an op has `void run(const Context& context, Tiles in, Tiles out) const`");
}

// What is asserted is also asked for where it is used, so that the assertion is the only error.
template <Op T>
constexpr OpModel make_model() {
  assert_op<T>();
  OpModel model;
  model.name = T::name;
  model.type_name = type_name<T>();
  if constexpr (HasAttributes<T>)
    model.attributes = [](const void* op) { return attributes_of(*static_cast<const T*>(op)); };
  if constexpr (HasInfer<T>)
    model.infer = [](const void* op, const Types& in) { return static_cast<const T*>(op)->infer(in); };
  if constexpr (HasAxes<T>)
    model.axes = [](const void* op, const Types& in) { return static_cast<const T*>(op)->axes(in); };
  if constexpr (HasRun<T>) {
    model.run = [](const void* op, const Context& context, Tiles in, Tiles out) {
      static_cast<const T*>(op)->run(context, in, out);
    };
  }
  if constexpr (requires { T::can_fail; }) {
    static_assert(std::same_as<decltype(T::can_fail), const bool>, "`can_fail` is `static constexpr bool`");
    if constexpr (std::same_as<decltype(T::can_fail), const bool>) model.can_fail = T::can_fail;
  }
  if constexpr (requires { &T::gradient; }) {
    static_assert(HasGradient<T>,
                  "an op's gradient is `Gradients gradient(Inputs, Outputs, Cotangents) const`");
    if constexpr (HasGradient<T>) {
      model.gradient = [](const void* op, Inputs in, Outputs out, Cotangents cotangents) {
        return static_cast<const T*>(op)->gradient(in, out, cotangents);
      };
    }
  }
  if constexpr (requires { &T::cost; }) {
    static_assert(HasCost<T>, "an op's cost is `Cost cost(const Types& in) const`");
    if constexpr (HasCost<T>)
      model.cost = [](const void* op, const Types& in) { return static_cast<const T*>(op)->cost(in); };
  }
  if constexpr (requires { &T::alias; }) {
    static_assert(HasAlias<T>, "an op's alias is `Alias alias(const Types& in) const`");
    if constexpr (HasAlias<T>)
      model.alias = [](const void* op, const Types& in) { return static_cast<const T*>(op)->alias(in); };
  }
  if constexpr (requires { &T::kernels; }) {
    static_assert(HasKernels<T>, "an op's kernels are `Kernels kernels(const Types& in) const`");
    if constexpr (HasKernels<T>)
      model.kernels = [](const void* op, const Types& in) { return static_cast<const T*>(op)->kernels(in); };
  }
  return model;
}

template <Op T>
inline constexpr OpModel model_of = make_model<T>();

}  // namespace detail

/// An op of any type, with its attributes. Copies share it.
class OpHandle {
 public:
  OpHandle() = default;
  template <Op T>
  explicit OpHandle(T op) : op_(std::make_shared<const T>(std::move(op))), model_(&detail::model_of<T>) {}

  explicit operator bool() const { return model_ != nullptr; }
  const OpModel& model() const { return *model_; }
  const void* get() const { return op_.get(); }
  std::string_view name() const { return model_->name; }
  std::vector<Attribute> attributes() const { return model_->attributes(op_.get()); }
  Types infer(const Types& in) const { return model_->infer(op_.get(), in); }
  AxesRule axes(const Types& in) const { return model_->axes(op_.get(), in); }
  Alias alias(const Types& in) const { return model_->alias ? model_->alias(op_.get(), in) : Alias{}; }
  Kernels kernels(const Types& in) const {
    return model_->kernels ? model_->kernels(op_.get(), in) : Kernels{};
  }
  /// What a step runs: the best kernel, or where there is none the plain reference.
  Kernel best_kernel(const Types& in) const {
    const Kernels compiled = kernels(in);
    return compiled.empty() ? Kernel{model_->run} : compiled.front();
  }
  /// From the op, or from its axes rule: one operation for each point of the product of all factors (two
  /// where one is reduced), and each operand moved once.
  Cost cost(const Types& in, const Types& out) const;
  /// "wafer.clip{low=0 high=1}"
  std::string text() const;

 private:
  std::shared_ptr<const void> op_;
  const OpModel* model_ = nullptr;
};

}  // namespace wafer::inline v0
