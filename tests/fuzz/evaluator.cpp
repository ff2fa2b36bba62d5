// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace fuzz {

using namespace wafer;

namespace {

void transpose_dims(Call& call) {
  const auto& op = call.as<Transpose>();
  const Values& x = call.in[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const std::vector<Index> index = index_of(call.shape(), i);
    std::vector<Index> from(index.size());
    for (std::size_t d = 0; d < index.size(); ++d) from[at(op.permutation[d])] = index[d];
    const double value = x.at[at(flat_of(x.shape, from))];
    call.set(i, value, std::abs(value));
  }
}

void broadcast_to(Call& call) {
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double value = broadcast_at(call.in[0], index_of(call.shape(), i));
    call.set(i, value, std::abs(value));
  }
}

void sgd(Call& call) {
  const auto& op = call.as<SgdUpdate>();
  const std::size_t scalars = op.has_momentum() ? 3 : 2;
  const double rate = call.in[scalars].at[0], scale = call.in[scalars + 1].at[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double p = call.in[0].at[at(i)], g = call.in[1].at[at(i)] * scale, decay = op.weight_decay * p;
    const double d = g + decay, d_terms = std::abs(g) + std::abs(decay);
    double step = d, step_terms = d_terms;
    if (op.has_momentum()) {
      const double kept = op.momentum * call.in[2].at[at(i)];
      const double m = kept + d, m_terms = std::abs(kept) + d_terms;
      call.set(i, m, m_terms, false, 1);
      step = op.nesterov ? d + op.momentum * m : m;
      step_terms = op.nesterov ? d_terms + op.momentum * m_terms : m_terms;
    }
    call.set(i, p - rate * step, std::abs(p) + rate * step_terms);
  }
}

void adamw(Call& call) {
  const auto& op = call.as<AdamwUpdate>();
  const double decay = call.in[4].at[0], size = call.in[5].at[0], bias = call.in[6].at[0],
               scale = call.in[7].at[0];
  for (Index i = 0; i < call.shape().size(); ++i) {
    const double p = call.in[0].at[at(i)], d = call.in[1].at[at(i)] * scale;
    const double old_m = op.beta1 * call.in[2].at[at(i)], new_m = (1 - op.beta1) * d;
    const double m = old_m + new_m, m_terms = std::abs(old_m) + std::abs(new_m);
    const double v = op.beta2 * call.in[3].at[at(i)] + (1 - op.beta2) * d * d;
    const double by = size / (std::sqrt(v) / bias + op.epsilon);
    call.set(i, p * decay - by * m, std::abs(p * decay) + by * m_terms);
    call.set(i, m, m_terms, false, 1);
    call.set(i, v, v, false, 2);
  }
}

Evaluations other_evaluations() {
  return {
      {CheckRange::name, [](Call& c) { unary(c, plain); }},
      {Reshape::name, [](Call& c) { unary(c, plain); }},
      {Transpose::name, transpose_dims},
      {BroadcastLike::name, broadcast_to},
      {SgdUpdate::name, sgd},
      {AdamwUpdate::name, adamw},
      {StepNumber::name,
       [](Call& c) {
         const auto step = static_cast<double>(c.run_time.step);
         c.set(0, step, step);
       }},
      {AxisExtent::name,
       [](Call& c) {
         const auto& op = c.as<AxisExtent>();
         const auto extent = static_cast<double>(c.run_time.axes.at(at(op.axis)) * op.factor);
         c.set(0, extent, extent);
       }},
  };
}

const Evaluations& evaluations() {
  static const Evaluations all = [] {
    Evaluations out = other_evaluations();
    out.merge(elementwise_evaluations());
    out.merge(sum_evaluations());
    out.merge(class_evaluations());
    return out;
  }();
  return all;
}

}  // namespace

std::vector<Expected> evaluate(const OpHandle& op, const std::vector<Values>& in, const Types& results,
                               const RunTime& run_time) {
  const auto found = evaluations().find(op.name());
  if (found == evaluations().end())
    throw std::runtime_error("no f64 evaluation of op '" + std::string(op.name()) + "'");
  Call call{op, in, results, run_time, {}};
  for (const TensorType& type : results) {
    const std::size_t size = at(type.shape.size());
    call.out.push_back({std::vector<double>(size), std::vector<double>(size), std::vector<bool>(size), 0});
  }
  found->second(call);
  return std::move(call.out);
}

}  // namespace fuzz
