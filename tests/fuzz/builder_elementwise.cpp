// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "builder_support.hpp"

#include <wafer/ops.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuzz {

using namespace wafer;

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
    if (!fits(b.tensor, condition)) return false;
  }
  const Shape shape = broadcast(broadcast(a.tensor.shape(), b.tensor.shape()), condition.shape());
  if (shape.size() > kMostElements) return false;
  return add(where(condition, a.tensor, b.tensor), std::max(a.bound, b.bound));
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

}  // namespace fuzz
