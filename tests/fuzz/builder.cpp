// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder.hpp"

#include <wafer/error.hpp>
#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuzz {

using namespace wafer;

namespace {

constexpr Index kMostElements = 20000;
constexpr double kMostBound = 50;
// Of an f32 chain: its error bound grows with the number of terms, and stays below 1e-5 of their magnitudes.
constexpr Index kMostTerms = 160;

Index size_with(const Shape& shape, Index further) { return shape.size() * further; }

int axis_of(const Tensor& t, int dim) {
  return t.data()->values[t.value()].axes[static_cast<std::size_t>(dim)];
}

Shape shape_of(const std::vector<Index>& extents) { return Shape(std::span<const Index>(extents)); }

// NumPy's broadcasting, where a named axis meets itself only.
bool fits(const Tensor& a, const Tensor& b) {
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const int da = a.rank() - back, db = b.rank() - back;
    const int axis_a = axis_of(a, da), axis_b = axis_of(b, db);
    const bool single_a = a.dim(da) == 1 && axis_a < 0, single_b = b.dim(db) == 1 && axis_b < 0;
    if (!single_a && !single_b && (a.dim(da) != b.dim(db) || axis_a != axis_b)) return false;
  }
  return true;
}

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

bool Builder::unary() {
  const Entry x = any(f32_);
  switch (random_.below(8)) {
    case 0: return add(relu(x.tensor), x.bound);
    case 1: return add(gelu(x.tensor), x.bound);
    case 2: return add(sigmoid(x.tensor), 1);
    case 3: return add(tanh(x.tensor), 1);
    case 4: return add(neg(x.tensor), x.bound);
    case 5: return add(square(x.tensor), x.bound * x.bound);
    case 6: return add(cos(x.tensor), 1);
    default: return add(x.tensor * random_.uniform(-1.5, 1.5), 1.5 * x.bound);
  }
}

bool Builder::clamped() {
  const Entry x = any(f32_);
  const auto number = [&](double v) { return out_.graph.constant(v); };
  switch (random_.below(3)) {
    case 0: {
      const Tensor low = x.bound > 3 ? min(max(x.tensor, number(-3)), number(3)) : x.tensor;
      return add(exp(low), std::exp(std::min(x.bound, 3.0)));
    }
    case 1: return add(log(max(x.tensor, number(0.1))), 1 + std::log(std::max(x.bound, 10.0)));
    default: return add(sqrt(max(x.tensor, number(0.05))), std::sqrt(std::max(x.bound, 0.05)));
  }
}

bool Builder::binary() {
  const Entry a = any(f32_);
  const Entry b = partner(a.tensor);
  const bool swap = random_.chance(0.5);
  const Tensor &l = swap ? b.tensor : a.tensor, &r = swap ? a.tensor : b.tensor;
  switch (random_.below(6)) {
    case 0: return add(l + r, a.bound + b.bound);
    case 1: return add(l - r, a.bound + b.bound);
    case 2: return add(l * r, a.bound * b.bound);
    case 3: return add(min(l, r), std::max(a.bound, b.bound));
    case 4: return add(max(l, r), std::max(a.bound, b.bound));
    default: return add(less(l, r), 1);
  }
}

bool Builder::clamped_binary() {
  const Entry a = any(f32_);
  const Entry b = partner(a.tensor);
  const auto number = [&](double v) { return out_.graph.constant(v); };
  if (random_.chance(0.5)) return add(a.tensor / max(b.tensor, number(0.5)), 2 * a.bound);
  const Tensor base = min(max(a.tensor, number(0.2)), number(2));
  const Tensor exponent = min(max(b.tensor, number(-2)), number(2));
  return add(pow(base, exponent), 25);
}

bool Builder::select() {
  const Entry a = any(f32_);
  const Entry b = partner(a.tensor);
  Tensor condition;
  for (const Entry& c : boolean_) {
    if (fits(a.tensor, c.tensor) && fits(b.tensor, c.tensor) && random_.chance(0.6)) condition = c.tensor;
  }
  if (!condition) {
    condition = less(a.tensor, partner(a.tensor).tensor);
    add(condition, 1);
  }
  return add(where(condition, a.tensor, b.tensor), std::max(a.bound, b.bound));
}

bool Builder::product() {
  const Entry a = any(f32_);
  const int rank = a.tensor.rank();
  if (rank < 2) return false;
  Matmul op{random_.chance(0.2), random_.chance(0.3)};
  const int summed = op.transpose_a ? rank - 2 : rank - 1;
  const Index k = a.tensor.dim(summed);
  if (k > kMostTerms) return false;
  Entry b;
  if (random_.chance(0.35)) {  // another value that happens to fit, even one with the batch
    for (const Entry& e : f32_) {
      const int of = e.tensor.rank();
      if (of < 2 || (of > 2 && of != rank) || !random_.chance(0.7)) continue;
      const int dim = op.transpose_b ? of - 1 : of - 2;
      if (e.tensor.dim(dim) == k && axis_of(e.tensor, dim) == axis_of(a.tensor, summed)) b = e;
    }
  }
  if (!b.tensor) {
    if (axis_of(a.tensor, summed) >= 0) return false;
    const Index n = random_extent();
    b = parameter_of(op.transpose_b ? Shape{n, k} : Shape{k, n});
  }
  const int other = op.transpose_b ? b.tensor.rank() - 2 : b.tensor.rank() - 1;
  if (k > 0 && size_with(a.tensor.shape(), b.tensor.dim(other)) / k > kMostElements) return false;
  return add(apply(op, {a.tensor, b.tensor}).at(0), static_cast<double>(k) * a.bound * b.bound);
}

bool Builder::rows() {
  const Entry a = any(f32_);
  if (a.tensor.rank() < 2) return false;
  for (int tries = 0; tries < 20; ++tries) {
    const Entry& b = any(f32_);
    if (b.tensor.rank() != a.tensor.rank()) continue;
    bool same = true;
    for (int d = 0; d + 1 < a.tensor.rank(); ++d)
      same = same && a.tensor.dim(d) == b.tensor.dim(d) && axis_of(a.tensor, d) == axis_of(b.tensor, d);
    if (!same || a.tensor.dim(-1) * b.tensor.dim(-1) > kMostElements) continue;
    const Index count = a.tensor.shape().size() / std::max<Index>(1, a.tensor.dim(-1));
    if (count > kMostTerms) continue;
    return add(apply(RowProduct{}, {a.tensor, b.tensor}).at(0),
               static_cast<double>(count) * a.bound * b.bound);
  }
  return false;
}

bool Builder::sums() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  if (rank == 0) return false;
  const double all = x.bound * static_cast<double>(x.tensor.shape().size());
  if (random_.chance(0.3)) {
    switch (random_.below(4)) {
      case 0: return add(sum(x.tensor), all);
      case 1: return add(mean(x.tensor), x.bound);
      case 2: return add(sum_all(x.tensor), all);
      default: return add(sum_squares(x.tensor), all * x.bound);
    }
  }
  std::vector<int> dims;
  double terms = 1;
  for (int d = 0; d < rank; ++d) {
    if (!random_.chance(0.5)) continue;
    dims.push_back(d);
    terms *= static_cast<double>(x.tensor.dim(d));
  }
  if (dims.empty() || (terms > static_cast<double>(kMostTerms) && dims != std::vector<int>{rank - 1}))
    return false;
  switch (random_.below(4)) {
    case 0: return add(mean(x.tensor, dims), x.bound);
    case 1: return add(mean_keep(x.tensor, dims), x.bound);
    case 2: return add(sum_keep(x.tensor, dims), x.bound * terms);
    default: return add(sum(x.tensor, dims), x.bound * terms);
  }
}

bool Builder::reshapes() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  const Shape before = x.tensor.shape();
  std::vector<Index> shape(before.begin(), before.end());
  const Index which = random_.below(3);
  if (which == 0 && rank >= 2) {  // two dimensions in one
    const auto d = static_cast<std::ptrdiff_t>(random_.below(rank - 1));
    shape[static_cast<std::size_t>(d)] *= shape[static_cast<std::size_t>(d) + 1];
    shape.erase(shape.begin() + d + 1);
  } else if (which == 1 && rank >= 1 && rank < 5) {  // one in two
    const auto d = static_cast<std::size_t>(random_.below(rank));
    for (Index by : {8, 5, 4, 2}) {
      if (shape[d] == 0 || shape[d] % by != 0 || shape[d] == by) continue;
      shape[d] /= by;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, by);
      break;
    }
  } else if (rank < 5) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(random_.below(rank + 1)), 1);
  }
  const Tensor y = reshape(x.tensor, shape);
  if (y.value() == x.tensor.value()) return false;
  // Where a tensor has no elements, or an axis one index, the way back may put a named axis elsewhere.
  const Tensor back = reshape(y, {before.begin(), before.end()});
  for (int d = 0; d < rank; ++d) {
    if (axis_of(back, d) != axis_of(x.tensor, d)) return false;
  }
  return add(y, x.bound);
}

bool Builder::transposes() {
  const Entry x = any(f32_);
  const int rank = x.tensor.rank();
  if (rank < 2) return false;
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random_.below(static_cast<Index>(i)))]);
  return add(transpose(x.tensor, order), x.bound);
}

bool Builder::is_logits(const Entry& e) const {
  const Tensor& t = e.tensor;
  if (t.rank() < 2 || t.rank() > 3 || t.dim(-1) < 1 || axis_of(t, t.rank() - 1) >= 0) return false;
  for (int d = 0; d + 1 < t.rank(); ++d) {
    if (axis_of(t, d) >= 0 && (d > 0 || t.dim(d) != out_.batch->extent)) return false;
  }
  return true;
}

Tensor Builder::labels_for(const Tensor& logits) {
  const bool batch = axis_of(logits, 0) >= 0;
  std::vector<Index> shape;
  for (int d = batch ? 1 : 0; d + 1 < logits.rank(); ++d) shape.push_back(logits.dim(d));
  const Tensor label = input(shape, batch, logits.dim(-1));
  i32_.push_back({label, 65});
  return label;
}

bool Builder::classes() {
  Entry x = any(f32_);
  for (int tries = 0; tries < 20 && !is_logits(x); ++tries) x = any(f32_);
  if (!is_logits(x)) return false;
  switch (random_.below(4)) {
    case 0: return add(argmax(x.tensor), 65);
    case 1: return add(count_correct(x.tensor, labels_for(x.tensor)), 5000);
    case 2: return add(cross_entropy(x.tensor, labels_for(x.tensor)), x.bound * 2 + 5);
    default:
      return add(apply(SoftmaxCrossEntropy{}, {x.tensor, labels_for(x.tensor)}).at(0), x.bound * 2 + 5);
  }
}

bool Builder::casts() {
  switch (random_.below(5)) {
    case 0: {
      const Entry x = any(f32_);
      return add(cast(x.tensor, DType::i32), x.bound);
    }
    case 1: return add(cast(any(f32_).tensor, DType::boolean), 1);
    case 2:
      return !boolean_.empty() &&
             add(cast(any(boolean_).tensor, random_.chance(0.7) ? DType::f32 : DType::i32), 1);
    case 3: {
      if (i32_.empty()) return false;
      const Entry x = any(i32_);
      return add(cast(x.tensor, DType::f32), x.bound);
    }
    default: {
      if (f64_.empty()) return false;
      const Entry x = any(f64_);
      return add(cast(x.tensor, DType::f32), x.bound);
    }
  }
}

bool Builder::integers() {
  if (i32_.empty()) return false;
  const Entry a = any(i32_);
  Entry b{out_.graph.constant(static_cast<double>(random_.between(-3, 3)), DType::i32), 3};
  for (const Entry& e : i32_) {
    if (fits(a.tensor, e.tensor) && random_.chance(0.5) &&
        broadcast(a.tensor.shape(), e.tensor.shape()).size() <= kMostElements) {
      b = e;
    }
  }
  switch (random_.below(6)) {
    case 0: return add(a.tensor + b.tensor, a.bound + b.bound);
    case 1: return add(a.tensor - b.tensor, a.bound + b.bound);
    case 2: return a.bound * b.bound < 1e6 && add(a.tensor * b.tensor, a.bound * b.bound);
    case 3: return add(min(a.tensor, b.tensor), std::max(a.bound, b.bound));
    case 4: return add(max(a.tensor, b.tensor), std::max(a.bound, b.bound));
    default: return add(less(a.tensor, b.tensor), 1);
  }
}

bool Builder::scalars() {
  if (f64_.empty() || random_.chance(0.2)) {
    if (random_.chance(0.4)) return add(step_number(out_.graph), 5);
    const Entry x = any(f32_);
    std::vector<int> dims(static_cast<std::size_t>(x.tensor.rank()));
    std::iota(dims.begin(), dims.end(), 0);
    return add(element_count(x.tensor, dims), static_cast<double>(x.tensor.shape().size()));
  }
  const Entry a = any(f64_), b = any(f64_);
  const auto number = [&](double v) { return out_.graph.constant(v, DType::f64); };
  const auto bounded = [&](const Tensor& x) { return min(max(x, number(0.1)), number(3)); };
  switch (random_.below(9)) {
    case 0: return add(a.tensor + b.tensor, a.bound + b.bound);
    case 1: return add(a.tensor - b.tensor, a.bound + b.bound);
    case 2: return a.bound * b.bound < 1e6 && add(a.tensor * b.tensor, a.bound * b.bound);
    case 3: return add(a.tensor / max(b.tensor, number(1)), a.bound);
    case 4: return add(exp(bounded(a.tensor)), 21);
    case 5: return add(log(bounded(a.tensor)), 3);
    case 6: return add(sqrt(bounded(a.tensor)), 2);
    case 7: return add(cos(bounded(a.tensor)), 1);
    default: return add(pow(bounded(a.tensor), bounded(b.tensor)), 27);
  }
}

bool Builder::stretches() {
  const Entry x = any(f32_);
  for (int tries = 0; tries < 20; ++tries) {
    const Entry& like = any(f32_);
    if (!fits(x.tensor, like.tensor) || like.tensor.shape() == x.tensor.shape() ||
        broadcast(x.tensor.shape(), like.tensor.shape()) != like.tensor.shape())
      continue;
    return add(broadcast_like(x.tensor, like.tensor), x.bound);
  }
  return false;
}

}  // namespace fuzz
