// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/step_number.hpp>
#include <wafer/optim/optimizer.hpp>

#include <algorithm>
#include <cmath>

namespace wafer::inline v0 {

bool weights_only(const GradientOf& of) { return of.decays; }
bool every_parameter(const GradientOf&) { return true; }

Tensor UpdateBuilder::step() {
  if (!step_) step_ = step_number(graph_);
  return step_;
}

Tensor UpdateBuilder::scale() {
  if (!scale_) scale_ = graph_.constant(1);
  return scale_;
}

Tensor UpdateBuilder::state(const GradientOf& of, const std::string& name, Init init) {
  GraphData& data = *graph_.data();
  if (name.empty()) throw UserError("optimizer state of '" + of.path + "': expected a name, got none");
  const std::string path = "optimizer." + of.path + "." + name;
  const TensorType type{DType::f32, of.value.shape()};
  const auto known = std::find_if(data.variables.begin(), data.variables.end(),
                                  [&](const VariableInfo& variable) { return variable.path == path; });
  if (known != data.variables.end()) {
    const bool same = !known->trained && data.values[known->value].type == type &&
                      known->init.kind == init.kind && known->init.value == init.value;
    if (!same) {
      throw UserError("optimizer state '" + path + "': expected a path of its own for " + text_of(type) +
                      ", got one where something else is");
    }
    return Tensor(graph_.data(), known->value);
  }
  check_init(path, init);
  data.variables.push_back({path, static_cast<ValueId>(data.values.size()), init, false});
  const auto source = static_cast<std::uint32_t>(data.variables.size() - 1);
  return Tensor(graph_.data(), data.add_source(NodeKind::variable, source, type, kNoAxes));
}

void UpdateBuilder::assign(const Tensor& variable, Tensor value) {
  const GraphData& data = *graph_.data();
  for (const Tensor* tensor : {&variable, static_cast<const Tensor*>(&value)}) {
    if (tensor->data() != graph_.data())
      throw UserError("assign: expected tensors of the step's graph, got others");
  }
  const NodeId node = data.values[variable.value()].node;
  const std::string where = data.where(node);
  if (data.nodes[node].kind != NodeKind::variable) {
    throw UserError("assign: expected a parameter or an optimizer's state, got " + where);
  }
  if (variable.type() != value.type()) {
    throw UserError("assign to " + where + ": expected " + text_of(variable.type()) + ", got " +
                    text_of(value.type()));
  }
  const bool twice = std::any_of(assignments_.begin(), assignments_.end(), [&](const Assignment& assignment) {
    return assignment.variable.value() == variable.value();
  });
  if (twice) throw UserError("assign to " + where + ": expected one value in a step, got two");
  assignments_.push_back({variable, std::move(value)});
}

Tensor Schedule::at(const Tensor& step) const {
  if (!function_) {
    if (!(value_ >= 0 && std::isfinite(value_))) {
      throw UserError("schedule: expected a finite rate >= 0, got " + std::to_string(value_));
    }
    return step.graph().constant(value_, DType::f64);
  }
  Tensor value = call_(function_.get(), step);
  if (!value) throw UserError("schedule: expected an f64 scalar, got an empty handle");
  if (value.data() != step.data())
    throw UserError("schedule: expected a tensor of the step's graph, got another's");
  if (value.type() != TensorType{DType::f64, Shape{}}) {
    throw UserError("schedule: expected an f64 scalar, got " + text_of(value.type()));
  }
  return value;
}

}  // namespace wafer::inline v0
