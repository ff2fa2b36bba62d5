// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder_support.hpp"
#include "causes.hpp"

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
  // Large ones make long sums.
  static const std::vector<Index> large{31, 64, 65};
  const bool long_sums = random.chance(0.25);
  for (int i = 0; i < 3; ++i) extents_.push_back(random.pick(long_sums ? large : kPositiveExtents));
  if (random.chance(0.08)) extents_.push_back(0);
  out_.wide = random.chance(0.15);
}

Index Builder::random_extent() { return random_.pick(extents_); }

// Of a weight: full panels, and last ones that are not full or not worth it.
Index Builder::random_width() {
  static const std::vector<Index> widths{32, 33, 52, 64, 77, 96};
  return out_.wide && random_.chance(0.9) ? random_.pick(widths) : random_extent();
}

std::vector<Index> Builder::random_shape(Index rank) {
  std::vector<Index> shape;
  for (Index d = 0; d < rank; ++d) {
    const Index size = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
    shape.push_back(size * 65 > kMostElements / 4 ? 1 + random_.below(2) : random_extent());
  }
  return shape;
}

Tensor Builder::input(const std::vector<Extent>& e, Index classes) {
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

// Named axes among the dimensions: the first one mostly outermost, a second one or the same again sometimes.
std::vector<Extent> Builder::with_axes(const std::vector<Index>& shape) {
  std::vector<Extent> out(shape.begin(), shape.end());
  if (out_.axes.empty()) return out;
  const auto insert = [&](const Axis& axis, double outermost) {
    const Index at = random_.chance(outermost) ? 0 : random_.below(static_cast<Index>(out.size()) + 1);
    out.insert(out.begin() + at, axis);
  };
  insert(random_.chance(0.7) ? out_.axes[0] : random_.pick(out_.axes), 0.6);
  if (random_.chance(out_.axes.size() > 1 ? 0.4 : 0.05)) insert(random_.pick(out_.axes), 0.3);
  Index size = 1;
  for (const Extent& e : out) size *= std::max<Index>(1, e.extent);
  for (Extent& e : out) {
    if (e.named || e.extent < 3 || size <= kMostElements) continue;
    size /= e.extent;
    e = random_.between(1, 2);
    size *= e.extent;
  }
  return out;
}

void Builder::sources() {
  for (Index n = random_.between(1, 3); n > 0; --n)
    f32_.push_back({input(with_axes(random_shape(random_.between(1, 2))), 0), 1});
  if (random_.chance(0.3)) {
    const std::vector<Index> shape = random_shape(random_.between(0, 2));
    f32_.push_back({input({shape.begin(), shape.end()}, 0), 1});
  }
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
      (this->*(out_.wide && random_.chance(0.25) ? &Builder::product : random_.pick(makes)))();
    } catch (const UserError& error) {
      ++out_.drawn_again[cause_of(error)];
    }
  }
}

bool Builder::add(Tensor tensor, double bound) {
  results_.push_back(tensor);
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
