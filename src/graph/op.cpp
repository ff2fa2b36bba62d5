// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/graph/op.hpp>

namespace wafer::inline v0 {

Cost OpHandle::cost(const Types& in, const Types& out) const {
  if (model_->cost) return model_->cost(op_.get(), in);
  Cost cost;
  const AxesRule rule = axes(in);
  double points = 1;
  bool reduces = false;
  for (const Factor& factor : rule.factors()) {
    points *= static_cast<double>(factor.extent);
    reduces = reduces || factor.kind == FactorKind::reduced;
  }
  cost.flops = reduces ? 2 * points : points;
  for (const Types* types : {&in, &out}) {
    for (const TensorType& type : *types) cost.bytes += static_cast<double>(bytes_of(type));
  }
  return cost;
}

std::string OpHandle::text() const {
  const std::string attributes = text_of(model_->attributes(op_.get()));
  return std::string(name()) + (attributes.empty() ? "" : "{" + attributes + "}");
}

}  // namespace wafer::inline v0
