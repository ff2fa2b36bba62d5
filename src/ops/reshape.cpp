// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/reshape.hpp>

#include "ops/reshape.hpp"
#include "ops/support.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace wafer::inline v0 {

namespace {

// Walks two shapes of one size from the outermost dimension and cuts both into common factors. Named axes of
// one index come first.
class Refinement {
 public:
  Refinement(const Shape& in, const Reshape& op)
      : to_(std::span<const Index>(op.shape)),
        in_{in, AxesRule::Dims(ops::at(in.rank()))},
        out_{to_, AxesRule::Dims(op.shape.size())} {
    for (std::size_t i = 0; i < op.axis_from.size(); ++i) {
      const int axis = rule_.parallel(name(), 1);
      in_.dims[static_cast<std::size_t>(op.axis_from[i])].push_back(axis);
      out_.dims[static_cast<std::size_t>(op.axis_to[i])].push_back(axis);
    }
    in_.enter();
    out_.enter();
    while (!in_.done() || !out_.done()) step();
    rule_.operand(in_.dims);
    rule_.result(out_.dims);
  }
  AxesRule rule() const { return rule_; }

 private:
  struct Side {
    const Shape& shape;
    AxesRule::Dims dims;
    int dim = 0;
    Index rest = 1;  // of the current dimension

    bool done() const { return dim == shape.rank(); }
    bool complete() const { return !done() && rest == 1 && !dims[ops::at(dim)].empty(); }
    void enter() { rest = done() ? 1 : shape[dim]; }
    void take(int factor, Index extent) {
      dims[ops::at(dim)].push_back(factor);
      rest = extent == 0 ? 1 : rest / extent;
      if (rest == 1) next();
    }
    void next() {
      ++dim;
      enter();
    }
  };

  void step() {
    if (in_.complete()) return in_.next();
    if (out_.complete()) return out_.next();
    if (!in_.done() && !out_.done() && in_.rest == out_.rest) return share(in_.rest);
    if (!in_.done() && in_.rest == 1) return in_.next();
    if (!out_.done() && out_.rest == 1) return out_.next();
    const Index smaller = std::min(in_.rest, out_.rest);
    const Index greater = std::max(in_.rest, out_.rest);
    const bool both = !in_.done() && !out_.done();    // not so where a later dimension has no elements
    if (both && smaller == 0) return share(greater);  // every extent is a factor of nothing
    if (both && greater % smaller == 0) return share(smaller);
    keep_whole();
  }

  void share(Index extent) {
    const int factor = rule_.parallel(name(), extent);
    in_.take(factor, extent);
    out_.take(factor, extent);
  }

  // Dimensions that have no common factors, until the products of both sides meet again.
  void keep_whole() {
    Index in = take_whole(in_), out = take_whole(out_);
    while (in != out || in == 0) {
      if (in_.done() && out_.done()) return;
      const bool left = out_.done() || (!in_.done() && in < out);
      Index& product = left ? in : out;
      product *= take_whole(left ? in_ : out_);
    }
  }
  Index take_whole(Side& side) {
    if (side.done()) return 1;
    const Index extent = side.rest;
    side.take(rule_.whole(name(), extent), extent);
    return extent;
  }

  std::string_view name() {
    static constexpr std::string_view kNames[3 * kMaxRank] = {
        "f0",  "f1",  "f2",  "f3",  "f4",  "f5",  "f6",  "f7",  "f8",  "f9",  "f10", "f11",
        "f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23"};
    return kNames[rule_.factors().size()];
  }

  AxesRule rule_;
  const Shape to_;
  Side in_, out_;
};

// Finds dimensions of a shape for the named axes of one index that a tensor has.
class UnitPlaces {
 public:
  UnitPlaces(const Tensor& x, const Shape& to) : from_(x.shape()), to_(to), tags_(ops::axes_of(x)) {
    for (int d = 0; d < from_.rank(); ++d) unit_.push_back(extent_of(x, tags_[ops::at(d)]) == 1);
    // At each place there may be a few dimensions of 1, with an axis or plain, before one of more.
    for (int d = 0; d < from_.rank(); ++d) {
      if (d == 0 || before(from_, d) != before(from_, d - 1)) place_all(before(from_, d));
    }
  }
  const AxisTags& axes() const { return axes_; }

 private:
  static Index extent_of(const Tensor& x, int axis) {
    return axis < 0 ? 0 : x.data()->axes[static_cast<std::size_t>(axis)].extent;
  }
  // Elements of the dimensions before one.
  static Index before(const Shape& shape, int dim) {
    Index product = 1;
    for (int d = 0; d < dim; ++d) product *= shape[d];
    return product;
  }

  void place_all(Index place) {
    std::vector<int> ones, more;
    for (int d = to_.rank() - 1; d >= 0; --d) {
      if (before(to_, d) == place) (to_[d] == 1 ? ones : more).push_back(d);
    }
    std::vector<int> here;
    for (int d = 0; d < from_.rank(); ++d) {
      if (before(from_, d) == place && (from_[d] == 1 || unit_[ops::at(d)])) here.push_back(d);
    }
    auto units = static_cast<std::size_t>(
        std::count_if(here.begin(), here.end(), [&](int d) { return unit_[ops::at(d)]; }));
    for (const int d : here) {
      const bool unit = unit_[ops::at(d)];
      if (!unit && ones.size() <= units) continue;  // a plain dimension gives way
      std::vector<int>& free = ones.empty() ? more : ones;
      if (unit && !free.empty()) axes_[ops::at(free.back())] = tags_[ops::at(d)];
      if (!free.empty()) free.pop_back();
      units -= unit;
    }
  }

  const Shape from_, to_;
  const AxisTags tags_;
  std::vector<bool> unit_;  // of each dimension of the tensor: an axis of one index is outermost in it
  AxisTags axes_ = kNoAxes;
};

[[noreturn]] void refuse_loss(const Tensor& x, const Shape& shape, int axis) {
  throw UserError(x.data()->here("op 'wafer.reshape'") + ": expected a shape with axis '" +
                  x.data()->axes[static_cast<std::size_t>(axis)].name + "' outermost in a dimension, got " +
                  shape.text() + " for " + text_of(x.type()));
}

// How many elements lie adjacent at the end of a tile's row-major order, as a product of whole extents.
Index adjacent_elements(const Tile& tile) {
  Index run = 1;
  for (int d = tile.rank - 1; d >= 0; --d) {
    if (tile.extent[ops::at(d)] != 1 && tile.stride[ops::at(d)] != run) break;
    run *= tile.extent[ops::at(d)];
  }
  return run;
}

// Offset of an element, in elements, by its number in row-major order.
Index offset_of(const Tile& tile, Index number) {
  Index offset = 0;
  for (int d = tile.rank - 1; d >= 0; --d) {
    offset += number % tile.extent[ops::at(d)] * tile.stride[ops::at(d)];
    number /= tile.extent[ops::at(d)];
  }
  return offset;
}

}  // namespace

Types Reshape::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  const Shape result{std::span<const Index>(shape)};
  if (result.size() != in[0].shape.size()) {
    throw UserError("expected a shape of " + std::to_string(in[0].shape.size()) + " elements for " +
                    text_of(in[0]) + ", got " + result.text());
  }
  const auto within = [](const std::vector<Index>& dims, const Shape& of) {
    return std::all_of(dims.begin(), dims.end(), [&](Index d) { return d >= 0 && d < of.rank(); });
  };
  if (axis_from.size() != axis_to.size() || !within(axis_from, in[0].shape) || !within(axis_to, result)) {
    throw UserError("expected pairs of dimensions of " + text_of(in[0]) + " and " + result.text() + ", got " +
                    text_of({{"axis_from", axis_from}}) + " and " + text_of({{"axis_to", axis_to}}));
  }
  return {{in[0].dtype, result}};
}

AxesRule Reshape::axes(const Types& in) const { return Refinement(in[0].shape, *this).rule(); }

void Reshape::run(const Context&, Tiles in, Tiles out) const {
  const Index size = in[0].size();
  if (size == 0) return;
  const Index run = std::gcd(adjacent_elements(in[0]), adjacent_elements(out[0]));
  const Index bytes = size_of(in[0].dtype);
  for (Index i = 0; i < size; i += run) {
    const std::byte* from = in[0].as<std::byte>() + offset_of(in[0], i) * bytes;
    std::byte* to = out[0].as<std::byte>() + offset_of(out[0], i) * bytes;
    if (to != from) std::memcpy(to, from, static_cast<std::size_t>(run * bytes));
  }
}

Gradients Reshape::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {ops::reshape_to(cotangents[0], in[0].shape(), ops::axes_of(in[0]))};
}

Cost Reshape::cost(const Types& in) const { return {0, 2 * static_cast<double>(bytes_of(in[0]))}; }
Alias Reshape::alias(const Types&) const { return {{0, 0}}; }

namespace ops {

AxisTags axes_of(const Tensor& x) { return x.data()->values[x.value()].axes; }

Tensor reshape_to(Tensor x, const Shape& shape, AxisTags axes) {
  const AxisTags tags = axes_of(x);
  if (x.shape() == shape && tags == axes) return x;
  Reshape op{{shape.begin(), shape.end()}, {}, {}};
  std::vector<bool> taken(at(shape.rank()));
  for (int d = 0; d < x.rank(); ++d) {
    const int axis = tags[at(d)];
    if (axis < 0 || x.data()->axes[static_cast<std::size_t>(axis)].extent != 1) continue;
    int e = 0;
    while (e < shape.rank() && (axes[at(e)] != axis || taken[at(e)])) ++e;
    if (e == shape.rank()) refuse_loss(x, shape, axis);
    taken[at(e)] = true;
    op.axis_from.push_back(d);
    op.axis_to.push_back(e);
  }
  const Tensor y = wafer::apply(std::move(op), {x}).at(0);
  for (const std::int16_t axis : tags) {
    const AxisTags there = axes_of(y);
    if (axis >= 0 &&
        std::count(tags.begin(), tags.end(), axis) != std::count(there.begin(), there.end(), axis))
      refuse_loss(x, shape, axis);
  }
  return y;
}

}  // namespace ops

Tensor reshape(Tensor x, const std::vector<Index>& shape) {
  const Shape from = x.shape();
  std::vector<Index> to = shape;
  const auto open = std::find(to.begin(), to.end(), -1);
  if (open != to.end()) {
    *open = 1;
    const Index others = Shape(to).size();
    if (others == 0 || from.size() % others != 0) {
      *open = -1;
      throw UserError("op 'wafer.reshape': expected extents that divide the " + std::to_string(from.size()) +
                      " elements of " + text_of(x.type()) + ", got " + text_of({{"shape", to}}));
    }
    *open = from.size() / others;
  }
  if (std::equal(to.begin(), to.end(), from.begin(), from.end())) return x;
  const Shape result(to);
  if (result.size() != from.size()) return apply(Reshape{to, {}, {}}, {std::move(x)}).at(0);  // which says so
  const AxisTags axes = UnitPlaces(x, result).axes();
  return ops::reshape_to(std::move(x), result, axes);
}

}  // namespace wafer::inline v0
