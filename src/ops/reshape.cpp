// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/reshape.hpp>

#include "ops/support.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace wafer::inline v0 {

namespace {

// Walks two shapes of one size from the outermost dimension and cuts both into common factors.
class Refinement {
 public:
  Refinement(const Shape& in, const Shape& out)
      : in_{in, AxesRule::Dims(ops::at(in.rank()))}, out_{out, AxesRule::Dims(ops::at(out.rank()))} {
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
    if (!in_.done() && !out_.done() && in_.rest == out_.rest) return share(in_.rest);
    if (!in_.done() && in_.rest == 1) return in_.next();
    if (!out_.done() && out_.rest == 1) return out_.next();
    const Index smaller = std::min(in_.rest, out_.rest);
    const Index greater = std::max(in_.rest, out_.rest);
    const bool both = !in_.done() && !out_.done();  // not so where a later dimension has no elements
    if (both && smaller > 0 && greater % smaller == 0) return share(smaller);
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
    static constexpr std::string_view kNames[2 * kMaxRank] = {
        "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15"};
    return kNames[rule_.factors().size()];
  }

  AxesRule rule_;
  Side in_, out_;
};

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
  const Shape to{std::span<const Index>(shape)};
  if (to.size() != in[0].shape.size()) {
    throw UserError("expected a shape of " + std::to_string(in[0].shape.size()) + " elements for " +
                    text_of(in[0]) + ", got " + to.text());
  }
  return {{in[0].dtype, to}};
}

AxesRule Reshape::axes(const Types& in) const {
  const Shape to{std::span<const Index>(shape)};
  return Refinement(in[0].shape, to).rule();
}

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
  const Shape from = in[0].shape();
  return {reshape(cotangents[0], {from.begin(), from.end()})};
}

Cost Reshape::cost(const Types& in) const { return {0, 2 * static_cast<double>(bytes_of(in[0]))}; }
Alias Reshape::alias(const Types&) const { return {{0, 0}}; }

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
  return apply(Reshape{to}, {std::move(x)}).at(0);
}

}  // namespace wafer::inline v0
