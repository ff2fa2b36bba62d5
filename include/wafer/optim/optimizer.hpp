// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/graph.hpp>

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// A trained parameter and the gradient of the loss, as an optimizer sees them.
struct GradientOf {
  std::string path;    ///< "fc1.weight"
  Tensor value;        ///< before the step
  Tensor gradient;     ///< of the same shape, for the whole global batch, not yet clipped
  bool decays = true;  ///< false where its layer made it `without_decay`
};

/// Which parameters something is for: any callable of what an optimizer sees of one, such as
/// `[](const GradientOf& of) { return of.path.ends_with(".weight"); }`.
class ParameterFilter {
 public:
  template <class F>
  requires std::is_invocable_r_v<bool, const F&, const GradientOf&> ParameterFilter(F function)
      : function_(std::make_shared<const F>(std::move(function))),
        call_([](const void* self, const GradientOf& of) -> bool {
          return (*static_cast<const F*>(self))(of);
        }) {}
  bool operator()(const GradientOf& of) const { return call_(function_.get(), of); }

 private:
  std::shared_ptr<const void> function_;
  bool (*call_)(const void*, const GradientOf&);
};

/// All but those that their layer made `without_decay`: weights, and no biases.
bool weights_only(const GradientOf& of);
bool every_parameter(const GradientOf& of);

/// What an optimizer builds its update with: ordinary ops of the step's graph.
class UpdateBuilder {
 public:
  struct Assignment {
    Tensor variable, value;
  };

  explicit UpdateBuilder(Graph graph) : graph_(std::move(graph)) {}

  const Graph& graph() const { return graph_; }
  /// Number of the step, from 1: an f64 scalar.
  Tensor step();
  /// What multiplies every gradient (clipping): an f32 scalar, 1 where nothing clips.
  Tensor scale();
  void set_scale(Tensor scale) { scale_ = std::move(scale); }
  /// The planned state "optimizer.<path>.<name>", shaped as the parameter. Steps of one executable that ask
  /// for the same state share it. Throws UserError where the path belongs to something else.
  Tensor state(const GradientOf& of, const std::string& name, Init init = Init::zeros());
  /// The variable (a parameter or a state) takes this value when the step commits. Throws UserError where it
  /// was assigned already, where types differ, and for what is no variable.
  void assign(const Tensor& variable, Tensor value);

  const std::vector<Assignment>& assignments() const& { return assignments_; }
  const std::vector<Assignment>& assignments() const&& = delete;

 private:
  Graph graph_;
  Tensor step_, scale_;
  std::vector<Assignment> assignments_;
};

/// An optimizer of any type: a struct with `void build(UpdateBuilder&, std::span<const GradientOf>) const`.
class Optimizer {
 public:
  template <class T>
  requires requires(const T& t, UpdateBuilder& b, std::span<const GradientOf> g) { t.build(b, g); }
  Optimizer(T optimizer)
      : optimizer_(std::make_shared<const T>(std::move(optimizer))),
        build_([](const void* self, UpdateBuilder& builder, std::span<const GradientOf> gradients) {
          static_cast<const T*>(self)->build(builder, gradients);
        }) {}
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    build_(optimizer_.get(), builder, gradients);
  }

 private:
  std::shared_ptr<const void> optimizer_;
  void (*build_)(const void*, UpdateBuilder&, std::span<const GradientOf>);
};

/// A rate that may depend on the step: a constant, or an f64 scalar expression of the step's number (from 1),
/// as a callable Tensor -> Tensor. optim/schedule.hpp has the usual ones.
class Schedule {
 public:
  Schedule(double value) : value_(value) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, Tensor> Schedule(F function)
      : function_(std::make_shared<const F>(std::move(function))),
        call_([](const void* self, Tensor step) -> Tensor {
          return (*static_cast<const F*>(self))(std::move(step));
        }) {}
  /// The f64 scalar for a step. Throws UserError where a function gives anything else, and for a constant
  /// that is negative, infinite or NaN.
  Tensor at(const Tensor& step) const;

 private:
  double value_ = 0;
  std::shared_ptr<const void> function_;
  Tensor (*call_)(const void*, Tensor) = nullptr;
};

}  // namespace wafer::inline v0
