// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.hpp"

#include <cstring>
#include <string>

namespace wafer::inline v0::ops {

LoopNest loop_nest(const Tile& out, Tiles in) {
  LoopNest nest;
  nest.operands = in.size() + 1;
  std::array<Tile, LoopNest::kMaxOperands> tiles;
  tiles[0] = out;
  for (std::size_t i = 0; i < in.size(); ++i) tiles[i + 1] = broadcast_tile(in[i], out.rank, out.extent);

  const auto insert = [&](int dim) {  // before the first dimension of a smaller stride
    int to = nest.rank++;
    for (; to > 0 && nest.stride[at(to - 1)][0] < out.stride[at(dim)]; --to) {
      nest.extent[at(to)] = nest.extent[at(to - 1)];
      nest.stride[at(to)] = nest.stride[at(to - 1)];
    }
    nest.extent[at(to)] = out.extent[at(dim)];
    for (std::size_t o = 0; o < nest.operands; ++o) nest.stride[at(to)][o] = tiles[o].stride[at(dim)];
  };
  for (int d = 0; d < out.rank; ++d) {
    if (out.extent[at(d)] != 1) insert(d);
  }

  int joined =
      0;  // dimensions 0..joined are done; the next one is joined to the last of them where it continues it
  for (int d = 1; d < nest.rank; ++d) {
    bool continues = true;
    for (std::size_t o = 0; o < nest.operands; ++o) {
      continues = continues && nest.stride[at(joined)][o] == nest.stride[at(d)][o] * nest.extent[at(d)];
    }
    if (continues) {
      nest.extent[at(joined)] *= nest.extent[at(d)];
    } else {
      nest.extent[at(++joined)] = nest.extent[at(d)];
    }
    nest.stride[at(joined)] = nest.stride[at(d)];
  }
  if (nest.rank == 0) {
    nest.extent[0] = 1;
    nest.stride[0].fill(1);
  }
  nest.rank = joined + 1;
  return nest;
}

namespace {

template <class T>
void copy_elements(const Tile& out, const Tile& in) {
  elementwise<T, T>(out, Tiles(&in, 1), [](Index n, Run<T> from, T* to) {
    if (from.stride == 0) {
      std::fill_n(to, n, *from.data);
    } else if (to != from.data) {
      std::memcpy(to, from.data, static_cast<std::size_t>(n) * sizeof(T));
    }
  });
}

}  // namespace

void copy(const Tile& out, const Tile& in) {
  if (out.data == in.data && dense_stride(out, in) == 1) return;  // in place
  switch (size_of(out.dtype)) {
    case 1: return copy_elements<std::uint8_t>(out, in);
    case 4: return copy_elements<std::uint32_t>(out, in);
    default: return copy_elements<std::uint64_t>(out, in);
  }
}

void expect_number(const TensorType& type, Integers integers) {
  const bool fits = type.dtype == DType::f32 || (type.dtype == DType::f64 && type.shape.rank() == 0) ||
                    (type.dtype == DType::i32 && integers == Integers::yes);
  if (fits) return;
  throw UserError(std::string("expected f32, ") + (integers == Integers::yes ? "i32 " : "") +
                  "or a scalar of f64, got " + text_of(type));
}

TensorType elementwise_type(const Types& in, std::size_t count, Integers integers) {
  expect_inputs(in, count);
  TensorType result = in[0];
  for (const TensorType& type : in) {
    expect_number(type, integers);
    if (type.dtype != result.dtype) throw UserError("expected inputs of one dtype, got " + text_of(in));
    result.shape = broadcast(result.shape, type.shape);
  }
  return result;
}

Alias elementwise_alias(const Types& in, const TensorType& result, std::size_t first) {
  Alias alias;
  for (std::size_t i = first; i < in.size(); ++i) {
    if (in[i] == result) alias.push_back({0, static_cast<int>(i)});
  }
  return alias;
}

}  // namespace wafer::inline v0::ops
