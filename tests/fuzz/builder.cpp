// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder_support.hpp"

#include <wafer/error.hpp>
#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuzz {

using namespace wafer;

namespace {

constexpr double kMostBound = 50;

}  // namespace

Builder::Builder(Generated& out, Random& random) : out_(out), random_(random) {
  for (int i = 0; i < 3; ++i) extents_.push_back(random.pick(kPositiveExtents));
  if (random.chance(0.08)) extents_.push_back(0);
}

Index Builder::random_extent() { return random_.pick(extents_); }

std::vector<Index> Builder::random_shape(Index rank) {
  std::vector<Index> shape;
  for (Index d = 0; d < rank; ++d) {
    const Index size = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
    shape.push_back(size * 65 > kMostElements / 64 ? 1 + random_.below(2) : random_extent());
  }
  return shape;
}

Tensor Builder::input(std::vector<Index> shape, bool with_batch, Index classes) {
  std::vector<Extent> e;
  if (with_batch && out_.batch) e.emplace_back(*out_.batch);
  for (Index extent : shape) e.emplace_back(extent);
  const std::string name = "x" + std::to_string(names_++);
  const DType dtype = classes > 0 ? DType::i32 : DType::f32;
  Tensor t;
  switch (e.size()) {
    case 0: t = out_.graph.input(name, {}, dtype); break;
    case 1: t = out_.graph.input(name, {e[0]}, dtype); break;
    case 2: t = out_.graph.input(name, {e[0], e[1]}, dtype); break;
    case 3: t = out_.graph.input(name, {e[0], e[1], e[2]}, dtype); break;
    default: t = out_.graph.input(name, {e[0], e[1], e[2], e[3]}, dtype); break;
  }
  out_.inputs.push_back({name, t, classes});
  return t;
}

void Builder::sources() {
  for (Index n = random_.between(1, 3); n > 0; --n) {
    std::vector<Index> shape = random_shape(random_.between(1, 2));
    const Index batch = out_.batch ? out_.batch->extent : 1;
    if (shape.size() == 2 && batch * shape[0] > kMostTerms) shape[0] = random_.between(1, 2);
    f32_.push_back({input(shape, true, 0), 1});
  }
  if (random_.chance(0.3)) f32_.push_back({input(random_shape(random_.between(0, 2)), false, 0), 1});
  for (Index n = random_.between(1, 2); n > 0; --n)
    f32_.push_back(parameter_of(shape_of(random_shape(random_.between(1, 2)))));
  if (random_.chance(0.3)) {
    std::vector<float> values(static_cast<std::size_t>(random_extent()));
    for (float& v : values) v = static_cast<float>(random_.uniform(-1, 1));
    f32_.push_back({out_.graph.constant(values, Shape{static_cast<Index>(values.size())}), 1});
  }
}

Entry Builder::parameter_of(const Shape& shape) {
  const std::string name = "p" + std::to_string(names_++);
  return {parameter(out_.graph, name, shape, Init::uniform(1)), 1};
}

void Builder::ops(Index count) {
  using Make = bool (Builder::*)();
  static const std::vector<Make> makes{
      &Builder::unary,   &Builder::unary,   &Builder::clamped,  &Builder::binary,    &Builder::binary,
      &Builder::product, &Builder::product, &Builder::product,  &Builder::rows,      &Builder::clamped_binary,
      &Builder::select,  &Builder::sums,    &Builder::sums,     &Builder::reshapes,  &Builder::transposes,
      &Builder::classes, &Builder::casts,   &Builder::integers, &Builder::stretches, &Builder::scalars};
  const auto made = [&] {
    const auto& nodes = out_.graph.data()->nodes;
    return std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.kind == NodeKind::op; });
  };
  for (int tries = 0; made() < count && tries < 1000; ++tries) {
    try {
      (this->*random_.pick(makes))();
    } catch (const UserError&) {
      // Two dimensions that a named axis forbids to meet: another draw.
    }
  }
}

bool Builder::add(Tensor tensor, double bound) {
  results_.push_back(tensor);
  // Gradients would sum over all rows; what has too many is not used any further.
  if (tensor.rank() > 0 && tensor.dim(-1) > 0 && tensor.shape().size() / tensor.dim(-1) > kMostTerms)
    return true;
  switch (tensor.dtype()) {
    case DType::f32:
      if (bound > kMostBound) {  // keep values moderate
        tensor = random_.chance(0.5) ? tanh(tensor) : tensor * (1 / bound);
        results_.push_back(tensor);
        bound = 1;
      }
      f32_.push_back({tensor, bound});
      break;
    case DType::f64: f64_.push_back({tensor, bound}); break;
    case DType::i32: i32_.push_back({tensor, bound}); break;
    case DType::boolean: boolean_.push_back({tensor, 1}); break;
  }
  return true;
}

// Later values are likelier, so that graphs grow deep.
const Entry& Builder::any(const std::vector<Entry>& of) {
  const auto size = static_cast<Index>(of.size());
  return of[static_cast<std::size_t>(std::max(random_.below(size), random_.below(size)))];
}

Entry Builder::recent() {
  const auto size = static_cast<Index>(f32_.size());
  return f32_[static_cast<std::size_t>(size - 1 - random_.below(std::min<Index>(size, 5)))];
}

std::vector<Tensor> Builder::differentiable() {
  std::vector<Tensor> out;
  for (const Entry& e : f32_) {
    const NodeKind kind = e.tensor.data()->nodes[e.tensor.data()->values[e.tensor.value()].node].kind;
    if (kind == NodeKind::constant) continue;
    if (kind == NodeKind::op && !random_.chance(0.2)) continue;
    out.push_back(e.tensor);
  }
  return out;
}

// Something that broadcasts with `a`: another value, a parameter, or a number.
Entry Builder::partner(const Tensor& a) {
  if (random_.chance(0.1)) {
    const double value = random_.uniform(-2, 2);
    return {out_.graph.constant(value), std::abs(value)};
  }
  std::vector<Entry> all;
  for (const Entry& e : f32_) {
    if (fits(a, e.tensor) && broadcast(a.shape(), e.tensor.shape()).size() <= kMostElements) all.push_back(e);
  }
  if (!all.empty() && random_.chance(0.7)) return any(all);
  std::vector<Index> shape;
  for (int d = static_cast<int>(random_.below(a.rank() + 1)); d < a.rank(); ++d)
    shape.push_back(axis_of(a, d) >= 0 || random_.chance(0.1) ? 1 : a.dim(d));
  return parameter_of(shape_of(shape));
}

}  // namespace fuzz
