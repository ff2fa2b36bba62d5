// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/step_number.hpp>

namespace wafer::inline v0 {

Types StepNumber::infer(const Types& in) const {
  if (!in.empty()) throw UserError("expected no inputs, got " + text_of(in));
  return {{DType::f64, Shape{}}};
}

AxesRule StepNumber::axes(const Types&) const {
  AxesRule rule;
  rule.result({});
  return rule;
}

void StepNumber::run(const Context& context, Tiles, Tiles out) const {
  *out[0].as<double>() = static_cast<double>(context.step);
}

Tensor step_number(const Graph& graph) { return apply(StepNumber{}, graph).at(0); }

}  // namespace wafer::inline v0
