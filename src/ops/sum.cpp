// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/broadcast_like.hpp>
#include <wafer/ops/cast.hpp>
#include <wafer/ops/reshape.hpp>
#include <wafer/ops/sum.hpp>
#include <wafer/ops/sum_all.hpp>

#include "kernels/table.hpp"
#include "ops/lanes.hpp"
#include "ops/reshape.hpp"
#include "ops/support.hpp"

#include <algorithm>
#include <string>

namespace wafer::inline v0 {

namespace {

bool contains(const std::vector<Index>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

bool over_last(const std::vector<Index>& dims, int rank) { return dims[0] == rank - 1; }

std::vector<Index> summed_shape(const Shape& shape, const std::vector<Index>& dims, bool keep) {
  std::vector<Index> extents;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!contains(dims, d)) {
      extents.push_back(shape[d]);
    } else if (keep) {
      extents.push_back(1);
    }
  }
  return extents;
}

// The named axes of a sum of x.
AxisTags summed_axes(const Tensor& x, const std::vector<Index>& dims, bool keep) {
  AxisTags axes = kNoAxes;
  std::size_t to = 0;
  for (int d = 0; d < x.rank(); ++d) {
    const bool summed = contains(dims, d);
    if (!summed) axes[to] = ops::axes_of(x)[ops::at(d)];
    if (!summed || keep) ++to;
  }
  return axes;
}

// The result seen with the dimensions of the input: stride 0 in the summed ones.
struct Stretched {
  float* data;
  int rank;
  std::array<Index, kMaxRank> stride;

  Stretched(const Tile& out, const Tile& in, const Sum& op) : data(out.as<float>()), rank(in.rank) {
    int from = 0;
    for (int d = 0; d < rank; ++d) {
      const bool summed = contains(op.dims, d);
      stride[ops::at(d)] = summed ? 0 : out.stride[ops::at(from)];
      if (!summed || op.keep) ++from;
    }
  }
  float* at(const std::array<Index, kMaxRank>& index) const {
    Index offset = 0;
    for (int d = 0; d < rank; ++d) offset += index[ops::at(d)] * stride[ops::at(d)];
    return data + offset;
  }
};

// Calls f(index) for each index of `tile` with 0 in the dimensions where choose(dim) does not hold.
template <class Choose, class F>
void for_each_index_of(const Tile& tile, const Choose& choose, const F& f) {
  std::array<Index, kMaxRank> extent = tile.extent;
  for (int d = 0; d < tile.rank; ++d) {
    if (!choose(d)) extent[ops::at(d)] = 1;
  }
  for_each_index(tile.rank, extent, f);
}

void sum_last(const void* op, const Context& context, Tiles in, Tiles out) {
  const auto kernel = kernels::table(context.target).sum_row;
  const Stretched y(out[0], in[0], ops::op_of<Sum>(op));
  const Index length = in[0].extent[ops::at(in[0].rank - 1)];
  ops::for_each_row(in[0], context.scratch, [&](const std::array<Index, kMaxRank>& index, const float* row) {
    float& sum = *y.at(index);
    sum = kernel(length, row, context.accumulate ? sum : 0);
  });
}

// Sums over other dimensions than the last: columns are adjacent, rows are those of the innermost summed
// dimension.
void sum_others(const void* op, const Context& context, Tiles in, Tiles out) {
  const auto kernel = kernels::table(context.target).sum_rows;
  const Sum& sum = ops::op_of<Sum>(op);
  const Tile& x = in[0];
  const Stretched y(out[0], x, sum);
  const int last = x.rank - 1, rows = static_cast<int>(sum.dims.back());
  const bool adjacent = x.stride[ops::at(last)] == 1 && y.stride[ops::at(last)] == 1;
  const Index columns = adjacent ? x.extent[ops::at(last)] : 1;
  bool empty = false;
  for (Index d : sum.dims) empty = empty || x.extent[static_cast<std::size_t>(d)] == 0;
  const auto kept = [&](int d) { return !contains(sum.dims, d) && !(d == last && adjacent); };
  const auto outer = [&](int d) { return contains(sum.dims, d) && d != rows; };
  for_each_index_of(x, kept, [&](const std::array<Index, kMaxRank>& at_result) {
    float* const to = y.at(at_result);
    if (empty) return kernel(0, columns, nullptr, 0, to, context.accumulate);
    bool accumulate = context.accumulate;
    for_each_index_of(x, outer, [&](const std::array<Index, kMaxRank>& at_sum) {
      const float* from =
          ops::address<float>(x, at_result) + (ops::address<float>(x, at_sum) - x.as<float>());
      kernel(x.extent[ops::at(rows)], columns, from, x.stride[ops::at(rows)], to, accumulate);
      accumulate = true;
    });
  });
}

}  // namespace

Types Sum::infer(const Types& in) const {
  ops::expect_inputs(in, 1);
  ops::expect_dtype(in, 0, DType::f32, "a tensor");
  const int rank = in[0].shape.rank();
  bool fits = !dims.empty();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    fits = fits && dims[i] >= 0 && dims[i] < rank && (i == 0 || dims[i - 1] < dims[i]);
  }
  if (!fits || (dims.size() > 1 && dims.back() == rank - 1)) {
    throw UserError("expected the last dimension alone, or others in ascending order, of " + text_of(in[0]) +
                    ", got " + text_of({{"dims", dims}}));
  }
  return {{DType::f32, Shape(summed_shape(in[0].shape, dims, keep))}};
}

AxesRule Sum::axes(const Types& in) const {
  const Shape& shape = in[0].shape;
  AxesRule rule;
  AxesRule::Dims from, to;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::string_view dim = ops::kDimNames[d];
    if (!contains(dims, d)) {
      from.push_back({rule.parallel(dim, shape[d])});
      to.push_back(from.back());
    } else {
      const bool outermost = d == dims[0];
      from.push_back({outermost ? rule.reduced(dim, shape[d], over_last(dims, shape.rank()) ? 64 : 1)
                                : rule.whole(dim, shape[d])});
      if (keep) to.push_back({});
    }
  }
  rule.operand(from);
  rule.result(to);
  return rule;
}

void Sum::run(const Context& context, Tiles in, Tiles out) const {
  const Tile& x = in[0];
  const Stretched y(out[0], x, *this);
  const auto kept = [&](int d) { return !contains(dims, d); };
  if (!context.accumulate) for_each_index_of(x, kept, [&](const auto& index) { *y.at(index) = 0; });
  if (!over_last(dims, x.rank)) {
    for_each_index(x.rank, x.extent, [&](const auto& index) { *y.at(index) += element<float>(x, index); });
    return;
  }
  const std::size_t last = ops::at(x.rank - 1);
  for_each_index_of(x, kept, [&](const std::array<Index, kMaxRank>& index) {
    const float* row = ops::address<float>(x, index);
    float& sum = *y.at(index);
    sum = ops::sum_in_lanes<float>(x.extent[last], sum, [&](Index i) { return row[i * x.stride[last]]; });
  });
}

Gradients Sum::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  const Shape shape(summed_shape(in[0].shape(), dims, true));
  const Tensor kept = ops::reshape_to(cotangents[0], shape, summed_axes(in[0], dims, true));
  return {broadcast_like(kept, in[0])};
}

Kernels Sum::kernels(const Types& in) const {
  if (over_last(dims, in[0].shape.rank())) return {{sum_last, ops::row_scratch_bytes(in[0])}};
  return {{sum_others, 0}};
}

Tensor sum(Tensor x) { return x.rank() == 0 ? x : cast(sum_all(x), DType::f32); }

Tensor sum_keep(Tensor x, const std::vector<int>& dims) {
  const Shape shape = x.shape();
  std::vector<Index> summed = ops::normalized_dims(x, dims, "sum_keep");
  const std::vector<Index> kept = summed_shape(shape, summed, true);
  if (summed.size() == ops::at(shape.rank())) return reshape(sum(x), kept);
  if (summed.size() > 1 && summed.back() == shape.rank() - 1) {
    x = apply(Sum{{summed.back()}, true}, {x}).at(0);
    summed.pop_back();
  }
  return summed.empty() ? x : apply(Sum{summed, true}, {x}).at(0);
}

Tensor sum(Tensor x, const std::vector<int>& dims) {
  const Shape shape = x.shape();
  const std::vector<Index> summed = ops::normalized_dims(x, dims, "sum");
  if (summed.size() == ops::at(shape.rank())) return sum(x);
  if (summed.empty()) return x;
  const bool last_of_several = summed.size() > 1 && summed.back() == shape.rank() - 1;
  if (last_of_several) {
    return ops::reshape_to(sum_keep(x, dims), Shape(summed_shape(shape, summed, false)),
                           summed_axes(x, summed, false));
  }
  return apply(Sum{summed, false}, {x}).at(0);
}

}  // namespace wafer::inline v0
