// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/call.hpp"

#include <algorithm>

namespace wafer::inline v0 {

namespace {

// Only the dimensions that there are: a tile has room for many.
void copy_tile(const Tile& from, Tile& to) {
  to.data = from.data;
  to.dtype = from.dtype;
  to.rank = from.rank;
  std::copy_n(from.extent.begin(), from.rank, to.extent.begin());
  std::copy_n(from.stride.begin(), from.rank, to.stride.begin());
  std::copy_n(from.origin.begin(), from.rank, to.origin.begin());
  std::copy_n(from.shape.begin(), from.rank, to.shape.begin());
  to.panelled = from.panelled;
  to.panel = from.panel;
}

}  // namespace

struct Call::Run {
  Call& call;
  const ExecutableData& data;
  Context& context;
};

CallSizes sizes_of(const ExecutableData& data, const ActionRecord& action) {
  CallSizes sizes{action.factors, action.inputs + action.results};
  for (std::uint32_t t = 0; t < action.tails; ++t) {
    const TailRecord& tail = data.tails[action.first_tail + t];
    sizes.operands += tail.inputs + tail.results;
  }
  return sizes;
}

void Call::reserve(const CallSizes& sizes) {
  ranges_.resize(sizes.factors);
  tiles.resize(sizes.operands);
  pieces_.resize(sizes.operands);
}

void Call::resolve(const CallPlace& at, const ActionRecord& of, std::uint32_t tile) {
  action = &of;
  op_ = &at.data.ops[of.op];
  where_ = at.data.places[op_->where];
  Index left = tile;
  for (std::uint32_t f = 0; f < of.factors; ++f) {
    const FactorRecord& factor = at.data.factors[of.first_factor + f];
    Range range = range_of(factor.division, at.grid, at.place, at.state.axes);
    if (factor.tile > 0) {
      const Index begin = range.begin + (left % factor.tiles) * factor.tile;
      left /= factor.tiles;
      range = {std::min(begin, range.end), std::min(begin + factor.tile, range.end)};
    }
    ranges_[f] = range;
  }
  for (std::uint32_t k = 0; k < of.inputs + of.results; ++k)
    tile_of(at, at.data.operands[of.first_operand + k], tiles[k]);
  if (of.tails > 0) resolve_tails(at);
}

// (Only the dimensions that there are: a tile has room for many, and is filled for each operand of each
// call.)
void Call::tile_of(const CallPlace& at, const OperandRecord& operand, Tile& tile) const {
  const BufferRecord& buffer = at.data.buffers[operand.buffer];
  const std::vector<Index>& axes = at.state.axes;
  tile.dtype = buffer.dtype;
  tile.rank = buffer.rank;
  tile.panelled = -1;
  Index offset = 0;
  bool empty = false;
  for (int d = 0; d < buffer.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const BufferDim& dim = at.data.dims[buffer.first_dim + i];
    const OperandDim& of = at.data.operand_dims[operand.first_dim + i];
    const Range outer = of.factor < 0 ? Range{0, 1} : ranges_[static_cast<std::size_t>(of.factor)];
    const Range range{outer.begin * of.inner, outer.end * of.inner};
    const Division& division = dim.division;
    const Index greatest = division.extent;
    tile.extent[i] = range.size();
    tile.origin[i] = range.begin;
    tile.stride[i] = dim.stride.next;
    if (!dim.stride.plain() && range.size() > kPanel) {
      tile.panelled = d;
      tile.panel = dim.stride.panel;
    }
    tile.shape[i] = division.axis < 0
                        ? greatest
                        : std::min(greatest, axes[static_cast<std::size_t>(division.axis)] * division.per);
    if (division.direction < 0 && !division.micro) {
      offset += dim.stride.at(range.begin);  // held from its first index
    } else {
      offset += dim.stride.at(range.begin - range_of(division, at.grid, at.place, axes).begin);
    }
    empty = empty || range.size() <= 0;
  }
  if (buffer.space == Space::tile) {  // which holds the tile alone
    tile.data = at.tile_memory + buffer.offset;
    return;
  }
  std::byte* const lent = at.state.lent[operand.buffer];
  std::byte* const base = lent ? lent : arena_of(at.state, at.data, buffer.space, at.place) + buffer.offset;
  tile.data = base + (empty ? 0 : offset * size_of(buffer.dtype));
}

void Call::resolve_tails(const CallPlace& at) {
  later_micro_batch_ = at.place.micro_batch > 0;
  const OperandRecord& result = at.data.operands[action->first_operand + action->inputs];
  const int rank = at.data.buffers[result.buffer].rank;
  const OperandDim* const dims = at.data.operand_dims.data() + result.first_dim;
  row_factor_ = dims[rank - 2].factor;
  col_factor_ = dims[rank - 1].factor;
  tail_.stream_count = 0;
  std::size_t k = action->inputs + action->results;
  for (std::uint32_t t = 0; t < action->tails; ++t) {
    const TailRecord& tail = at.data.tails[action->first_tail + t];
    for (std::uint32_t n = 0; n < tail.inputs + tail.results; ++n, ++k) {
      const OperandRecord& operand = at.data.operands[tail.first_operand + n];
      tile_of(at, operand, tiles[k]);
      copy_tile(tiles[k], pieces_[k]);
      if (n < tail.inputs) add_stream(at.data, tiles[k], operand);
    }
  }
}

// An input that has an element for each one of the op's result, and is not made by the op or its tails.
void Call::add_stream(const ExecutableData& data, const Tile& tile, const OperandRecord& operand) {
  const OperandDim* const dims = data.operand_dims.data() + operand.first_dim;
  if (tile.rank != 2 || dims[0].factor != row_factor_ || dims[1].factor != col_factor_) return;
  const auto* const at = static_cast<const std::byte*>(tile.data);
  bool known = tile.data == tiles[action->inputs].data || tail_.stream_count == Tail::kMaxStreams;
  for (std::size_t s = 0; s < tail_.stream_count; ++s) known = known || tail_.streams[s].data == at;
  const Index size = size_of(tile.dtype);
  const auto in_bytes = [&](const Stride& stride) { return Stride(stride.next * size, stride.panel * size); };
  if (!known)
    tail_.streams[tail_.stream_count++] = {at, in_bytes(tile.stride_of(0)), in_bytes(tile.stride_of(1))};
}

void Call::run(const ExecutableData& data, Context& context) {
  const OpRecord& op = *op_;
  const Tiles in(tiles.data(), action->inputs), out(tiles.data() + action->inputs, action->results);
  context.where = where_;
  context.tail = nullptr;  // a call that threw has left its own
  if (action->tails == 0) return op.run(op.op.get(), context, in, out);
  Run run{*this, data, context};
  tail_.self = &run;
  tail_.run = [](void* self, Index row, Index rows, Index col, Index cols) {
    Run& of = *static_cast<Run*>(self);
    of.call.run_tails(of, row, rows, col, cols);
  };
  const Tile& result = out.front();
  const bool by_pieces = op.runs_tail && result.size() > 0;
  context.tail = by_pieces ? &tail_ : nullptr;
  op.run(op.op.get(), context, in, out);
  context.tail = nullptr;
  if (by_pieces) return;
  // The op does not call for them, or its tile is empty.
  const auto last = static_cast<std::size_t>(result.rank - 1);
  run_tails(run, 0, result.extent[last - 1], 0, result.extent[last]);
}

// All tails in turn, on one piece of the op's tile. Their scratch lies behind the op's, which goes on with
// it.
void Call::run_tails(Run& run, Index row, Index rows, Index col, Index cols) {
  const ExecutableData& data = run.data;
  Context& context = run.context;
  const bool accumulate = context.accumulate;
  const std::string_view where = context.where;
  const Tail* const tail_of_op = context.tail;
  void* const scratch = context.scratch;
  const Index scratch_bytes = context.scratch_bytes;
  context.tail = nullptr;
  context.scratch = static_cast<std::byte*>(scratch) + op_->scratch_bytes;
  context.scratch_bytes = scratch_bytes - op_->scratch_bytes;
  const Tile& result = tiles[action->inputs];
  const auto last = static_cast<std::size_t>(result.rank - 1);
  const bool whole = rows == result.extent[last - 1] && cols == result.extent[last];
  if (!whole) cut_pieces(data, row, rows, col, cols);
  const Tile* operands = (whole ? tiles : pieces_).data() + action->inputs + action->results;
  for (std::uint32_t t = 0; t < action->tails; ++t) {
    const TailRecord& tail = data.tails[action->first_tail + t];
    const OpRecord& op = data.ops[tail.op];
    context.where = data.places[op.where];
    context.accumulate = (tail.sums && row > 0) || (tail.sums_batch && later_micro_batch_);
    op.run(op.op.get(), context, Tiles(operands, tail.inputs), Tiles(operands + tail.inputs, tail.results));
    operands += tail.inputs + tail.results;
  }
  context.where = where;
  context.accumulate = accumulate;
  context.tail = tail_of_op;
  context.scratch = scratch;
  context.scratch_bytes = scratch_bytes;
}

void Call::cut_pieces(const ExecutableData& data, Index row, Index rows, Index col, Index cols) {
  std::size_t k = action->inputs + action->results;
  for (std::uint32_t t = 0; t < action->tails; ++t) {
    const TailRecord& tail = data.tails[action->first_tail + t];
    for (std::uint32_t n = 0; n < tail.inputs + tail.results; ++n, ++k) {
      const Tile& tile = tiles[k];
      Tile& piece = pieces_[k];
      const OperandDim* const dims =
          data.operand_dims.data() + data.operands[tail.first_operand + n].first_dim;
      Index offset = 0;
      for (int d = 0; d < tile.rank; ++d) {
        const auto i = static_cast<std::size_t>(d);
        const bool is_row = dims[d].factor >= 0 && dims[d].factor == row_factor_;
        const bool is_col = dims[d].factor >= 0 && dims[d].factor == col_factor_;
        if (!is_row && !is_col) continue;
        const Index begin = is_row ? row : col;
        piece.origin[i] = tile.origin[i] + begin;
        piece.extent[i] = is_row ? rows : cols;
        offset += tile.stride_of(d).at(begin);
      }
      piece.panelled = -1;  // no piece is of more than one
      piece.data = static_cast<std::byte*>(tile.data) + offset * size_of(tile.dtype);
    }
  }
}

}  // namespace wafer::inline v0
