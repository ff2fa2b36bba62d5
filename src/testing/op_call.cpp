// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/op_call.hpp"

#include <wafer/testing/interpreter.hpp>

#include "kernels/table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wafer::inline v0::testing {

namespace {

constexpr auto kUnwritten = std::byte{0xcd};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Types types_of(const Example& inputs) {
  Types types;
  for (const Array& array : inputs) types.push_back(array.type());
  return types;
}

// Memory for a tensor whose elements are not adjacent.
struct Strided {
  Array memory;
  Tile tile;

  Strided(const TensorType& type, bool transposed) {
    tile.dtype = type.dtype;
    tile.rank = type.shape.rank();
    Index stride = 2;
    for (int i = 0; i < tile.rank; ++i) {
      const int d = transposed ? i : tile.rank - 1 - i;
      tile.extent[at(d)] = tile.shape[at(d)] = type.shape[d];
      tile.stride[at(d)] = stride;
      stride *= type.shape[d] + 1;
    }
    memory = Array({DType::boolean, Shape{stride * size_of(type.dtype)}});
    std::fill(memory.bytes().begin(), memory.bytes().end(), kUnwritten);
    tile.data = memory.tile().data;
  }
};

void copy_elements(const Tile& from, const Tile& to) {
  const std::size_t bytes = static_cast<std::size_t>(size_of(from.dtype));
  for_each_index(from.rank, from.extent, [&](const std::array<Index, kMaxRank>& index) {
    Index source = 0, target = 0;
    for (int d = 0; d < from.rank; ++d) {
      source += index[at(d)] * from.stride[at(d)];
      target += index[at(d)] * to.stride[at(d)];
    }
    std::memcpy(to.as<std::byte>() + target * size_of(to.dtype),
                from.as<std::byte>() + source * size_of(to.dtype), bytes);
  });
}

}  // namespace

std::string Way::text() const {
  return reference ? "the plain reference" : "the kernel for " + std::string(name_of(target));
}

std::vector<Way> ways_of(const OpHandle& op, const Types& in) {
  std::vector<Way> ways{{KernelTarget::automatic, true}};
  if (op.kernels(in).empty()) return ways;
  for (KernelTarget target : kernels::kTargets) {
    if (kernels::supports(target)) ways.push_back({target, false});
  }
  return ways;
}

OpCall::OpCall(const OpHandle& op, const Example& inputs)
    : op_(op), inputs_(inputs), in_(types_of(inputs)), out_(op.infer(in_)), rule_(op.axes(in_)) {
  rule_.check(in_, out_);
}

std::vector<int> OpCall::cut_factors() const {
  std::vector<bool> may(rule_.factors().size(), true);
  bool summed = false;
  for (std::size_t f = 0; f < may.size(); ++f) {
    const FactorKind kind = rule_.factors()[f].kind;
    may[f] = kind == FactorKind::parallel || (kind == FactorKind::reduced && !summed);
    summed = summed || kind == FactorKind::reduced;
  }
  const auto mark = [&](const std::vector<AxesRule::Dims>& operands, bool results) {
    for (const AxesRule::Dims& dims : operands) {
      std::vector<bool> here(may.size());
      for (const AxesRule::Dim& dim : dims) {
        for (std::size_t i = 0; i < dim.size(); ++i) {
          here[at(dim[i])] = true;
          if (i > 0) may[at(dim[i])] = false;
        }
      }
      for (std::size_t f = 0; results && f < may.size(); ++f) {
        if (rule_.factors()[f].kind == FactorKind::parallel && !here[f]) may[f] = false;
      }
    }
  };
  mark(rule_.inputs(), false);
  mark(rule_.results(), true);
  std::vector<int> factors;
  for (std::size_t f = 0; f < may.size(); ++f) {
    if (may[f]) factors.push_back(static_cast<int>(f));
  }
  return factors;
}

std::vector<Tile> OpCall::pieces(const std::vector<Tile>& whole, bool results, const Cut& cut) const {
  std::vector<Tile> tiles = whole;
  if (cut.factor < 0) return tiles;
  const auto& operands = results ? rule_.results() : rule_.inputs();
  const Index extent = rule_.factors()[at(cut.factor)].extent;
  for (std::size_t o = 0; o < tiles.size(); ++o) {
    for (std::size_t d = 0; d < operands[o].size(); ++d) {
      if (operands[o][d].empty() || operands[o][d][0] != cut.factor || extent == 0) continue;
      const Index inner = tiles[o].extent[d] / extent;
      const Index offset = cut.begin * inner * tiles[o].stride[d] * size_of(tiles[o].dtype);
      if (tiles[o].data) tiles[o].data = tiles[o].as<std::byte>() + offset;
      tiles[o].origin[d] += cut.begin * inner;
      tiles[o].extent[d] = (cut.end - cut.begin) * inner;
    }
  }
  return tiles;
}

void OpCall::run(const Way& way, const std::vector<Tile>& in, const std::vector<Tile>& out,
                 bool accumulate) const {
  const std::string where = "op '" + std::string(op_.name()) + "'";
  Context context;
  context.where = where;
  context.step = 1;
  context.target = way.target;
  context.accumulate = accumulate;
  run_op(op_, in_, context, way.reference, in, out);
}

std::vector<Array> unwritten(const Types& types) {
  std::vector<Array> arrays;
  for (const TensorType& type : types) {
    Array& array = arrays.emplace_back(type);
    std::fill(array.bytes().begin(), array.bytes().end(), kUnwritten);
  }
  return arrays;
}

std::vector<Tile> tiles_of(const std::vector<Array>& arrays) {
  std::vector<Tile> tiles;
  for (const Array& array : arrays) tiles.push_back(array.tile());
  return tiles;
}

std::vector<Array> OpCall::run(const Way& way) const {
  std::vector<Array> results = unwritten(out_);
  run(way, tiles_of(inputs_), tiles_of(results), false);
  return results;
}

std::vector<Array> OpCall::run_cut(const Way& way, int factor, Index units) const {
  const Factor& cut = rule_.factors()[at(factor)];
  std::vector<Array> results = unwritten(out_);
  bool accumulate = false;
  for (Index begin = 0; begin < cut.extent || begin == 0; begin += units * cut.unit) {
    const Cut piece{factor, begin, std::min(cut.extent, begin + units * cut.unit)};
    run(way, pieces(tiles_of(inputs_), false, piece), pieces(tiles_of(results), true, piece), accumulate);
    accumulate = cut.kind == FactorKind::reduced;
  }
  return results;
}

std::vector<Array> OpCall::run_strided(const Way& way, bool transposed) const {
  std::vector<Strided> in, out;
  std::vector<Tile> in_tiles, out_tiles;
  for (const Array& input : inputs_) {
    in.emplace_back(input.type(), transposed);
    copy_elements(input.tile(), in.back().tile);
  }
  for (const TensorType& type : out_) out.emplace_back(type, transposed);
  for (const Strided& operand : in) in_tiles.push_back(operand.tile);
  for (const Strided& operand : out) out_tiles.push_back(operand.tile);
  run(way, in_tiles, out_tiles, false);
  std::vector<Array> results = unwritten(out_);
  for (std::size_t r = 0; r < out.size(); ++r) copy_elements(out_tiles[r], results[r].tile());
  return results;
}

Array OpCall::run_aliased(const Way& way, const AliasPair& pair) const {
  const Example copies = inputs_;
  std::vector<Array> results = unwritten(out_);
  std::vector<Tile> out = tiles_of(results);
  out[at(pair.result)].data = copies[at(pair.input)].tile().data;
  run(way, tiles_of(copies), out, false);
  Array result(out_[at(pair.result)]);
  copy_elements(out[at(pair.result)], result.tile());
  return result;
}

}  // namespace wafer::inline v0::testing
