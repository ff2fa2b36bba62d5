// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"
#include "ops/support.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

// What elementwise ops share: types, plain loops, and the glue between strided tiles and kernels of runs.
namespace wafer::inline v0::ops {

/// The operands of an elementwise call as one loop nest, the result first, then the inputs broadcast to it.
/// Dimensions are sorted by the result's strides and joined where all operands allow, so that the innermost
/// one is as long as can be.
struct LoopNest {
  static constexpr std::size_t kMaxOperands = 4;
  using Offsets = std::array<Index, kMaxOperands>;

  std::size_t operands = 0;
  int rank = 0;  ///< at least 1: the innermost dimension is a run
  std::array<Index, kMaxRank> extent{};
  std::array<Offsets, kMaxRank> stride{};

  Index run() const { return extent[at(rank - 1)]; }
  const Offsets& run_stride() const { return stride[at(rank - 1)]; }
  /// Calls f(offsets) with the elements' offsets at which each run starts.
  template <class F>
  void for_each_run(F&& f) const {
    for_each_index(rank - 1, extent, [&](const std::array<Index, kMaxRank>& index) {
      Offsets offsets{};
      for (int d = 0; d < rank - 1; ++d) {
        for (std::size_t o = 0; o < operands; ++o) offsets[o] += index[at(d)] * stride[at(d)][o];
      }
      f(offsets);
    });
  }
};
LoopNest loop_nest(const Tile& out, Tiles in);

/// A run of an input: adjacent elements, or one for all (stride 0).
template <class T>
struct Run {
  const T* data;
  Index stride;
};

/// Elements that are copied at a time where an operand's are not adjacent.
inline constexpr Index kCopied = 256;

/// Whether an input lies as the result does, without gaps, or is one element for all: its stride as a run,
/// else -1.
inline Index dense_stride(const Tile& out, const Tile& in) {
  if (in.size() == 1) return out.size() == 1 ? 1 : 0;
  bool same = in.rank == out.rank;
  for (int d = 0; same && d < out.rank; ++d) {
    same = in.extent[at(d)] == out.extent[at(d)] &&
           (out.extent[at(d)] == 1 || in.stride[at(d)] == out.stride[at(d)]);
  }
  return same ? 1 : -1;
}

/// Calls f(n, Run<In>..., out pointer) for runs that make up the tiles. Every element is read before it is
/// written.
template <class Out, class... In, class F>
void elementwise(const Tile& out, Tiles in, const F& f) {
  const Index size = out.size();
  if (size == 0) return;
  // The usual case, which needs no loops.
  if (out.contiguous()) {
    const bool one_run = [&]<std::size_t... I>(std::index_sequence<I...>) {
      const std::array<Index, sizeof...(In)> strides{dense_stride(out, in[I])...};
      if (!((strides[I] >= 0) && ...)) return false;
      f(size, Run<In>{in[I].as<In>(), strides[I]}..., out.as<Out>());
      return true;
    }
    (std::index_sequence_for<In...>());
    if (one_run) return;
  }
  const LoopNest nest = loop_nest(out, in);
  const Index n = nest.run();
  const auto& stride = nest.run_stride();
  bool direct = stride[0] == 1 || n == 1;
  for (std::size_t i = 1; i < nest.operands; ++i)
    direct = direct && (stride[i] == 1 || stride[i] == 0 || n == 1);
  nest.for_each_run([&](const LoopNest::Offsets& offset) {
    Out* const to = out.as<Out>() + offset[0];
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const std::tuple<const In*...> from{(in[I].as<In>() + offset[I + 1])...};
      if (direct) {
        f(n, Run<In>{std::get<I>(from), n == 1 ? 1 : stride[I + 1]}..., to);
        return;
      }
      std::tuple<std::array<In, kCopied>...> copies;
      std::array<Out, kCopied> result;
      for (Index start = 0; start < n; start += kCopied) {
        const Index count = std::min(kCopied, n - start);
        const auto copied = [&](auto& copy, const auto* p, Index p_stride) {
          for (Index i = 0; i < count; ++i) copy[static_cast<std::size_t>(i)] = p[(start + i) * p_stride];
          return copy.data();
        };
        f(count, Run<In>{copied(std::get<I>(copies), std::get<I>(from), stride[I + 1]), 1}..., result.data());
        for (Index i = 0; i < count; ++i) to[(start + i) * stride[0]] = result[static_cast<std::size_t>(i)];
      }
    }
    (std::index_sequence_for<In...>());
  });
}

/// A tile as rows of adjacent columns, with the strides of `kernels::Operand`; data is null where it is none.
/// `rows` and `cols` are the result's.
inline kernels::Operand operand_of(const Tile& tile, Index rows, Index cols) {
  // Missing dimensions are broadcast; single ones too.
  const bool has_rows = tile.rank == 2 && tile.extent[0] != 1;
  const auto last = at(tile.rank - 1);
  const bool has_cols = tile.rank > 0 && tile.extent[last] != 1;
  const bool fits = tile.rank <= 2 && (!has_rows || tile.extent[0] == rows) &&
                    (!has_cols || (tile.extent[last] == cols && tile.stride[last] == 1));
  if (!fits) return {};
  return {tile.as<float>(), has_rows ? tile.stride[0] : 0, has_cols || cols == 1 ? 1 : 0};
}

/// Calls a kernel of rows and columns on f32 tiles: once where they are matrices, as one row where their rows
/// are adjacent; else for each run.
template <std::size_t kInputs, class F>
void rows_and_columns(const Tile& out, Tiles in, const F& f) {
  if (out.rank == 2 && out.stride[1] == 1 && out.extent[0] > 1) {
    const Index rows = out.extent[0], cols = out.extent[1];
    std::array<kernels::Operand, kInputs> operands;
    bool fits = true, one_row = out.stride[0] == cols;
    for (std::size_t i = 0; i < kInputs; ++i) {
      operands[i] = operand_of(in[i], rows, cols);
      fits = fits && operands[i].data != nullptr;
      one_row = one_row && operands[i].row == cols * operands[i].col;
    }
    if (fits && one_row) return f(1, rows * cols, operands, out.as<float>(), out.stride[0]);
    if (fits) return f(rows, cols, operands, out.as<float>(), out.stride[0]);
  }
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    elementwise<float, decltype(I, float())...>(out, in, [&](Index n, auto... runs) {
      float* to = nullptr;
      std::array<kernels::Operand, kInputs> operands;
      std::size_t at = 0;
      const auto take = [&](const auto& run) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(run)>>) {
          to = run;
        } else {
          operands[at++] = {run.data, 0, run.stride};
        }
      };
      (take(runs), ...);
      f(1, n, operands, to, 0);
    });
  }
  (std::make_index_sequence<kInputs>());
}

/// The plain loop: out[i] = f(in[i]...) at each index, inputs broadcast.
template <class Out, class... In, class F>
void plain_elementwise(const Tile& out, Tiles in, const F& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::array<Tile, sizeof...(In)> wide{broadcast_tile(in[I], out.rank, out.extent)...};
    for_each_index(out.rank, out.extent, [&](const std::array<Index, kMaxRank>& index) {
      element<Out>(out, index) = f(element<In>(wide[I], index)...);
    });
  }
  (std::index_sequence_for<In...>());
}

/// Copies a tile of any dtype, broadcast to the result.
void copy(const Tile& out, const Tile& in);

/// Which dtypes an op takes beside f32: f64 in scalars always, i32 by choice.
enum class Integers { no, yes };

/// Throws UserError unless the type is one that elementwise ops of numbers take.
void expect_number(const TensorType& type, Integers integers);
/// One dtype and the broadcast shape of `count` inputs. Throws UserError for anything else.
TensorType elementwise_type(const Types& in, std::size_t count, Integers integers);
/// The inputs from `first` on whose memory a result of this type may take.
Alias elementwise_alias(const Types& in, const TensorType& result, std::size_t first = 0);

/// The members of an op of one operand, from its function: `Function::of` takes float and double.
template <class Function, kernels::Unary* kernels::Table::*kKernel>
struct Unary {
  static Types infer(const Types& in) { return {elementwise_type(in, 1, Integers::no)}; }
  static AxesRule axes(const Types& in) { return elementwise_rule(in, in[0].shape); }
  static Alias alias(const Types& in) { return elementwise_alias(in, in[0]); }
  static void run(Tiles in, Tiles out) {
    if (out[0].dtype == DType::f64) {
      out[0].as<double>()[0] = Function::of(in[0].as<double>()[0]);
    } else {
      plain_elementwise<float, float>(out[0], in, [](float x) { return Function::of(x); });
    }
  }
  static Kernels kernels(const Types& in) {
    if (in[0].dtype != DType::f32) return {};
    return {{[](const void*, const Context& context, Tiles x, Tiles y) {
      const auto kernel = kernels::table(context.target).*kKernel;
      rows_and_columns<1>(y[0], x, [&](Index rows, Index cols, const auto& from, float* to, Index to_row) {
        if (from[0].col == 1) return kernel(rows, cols, from[0].data, from[0].row, to, to_row);
        for (Index i = 0; i < rows; ++i, to += to_row) {  // one for all
          kernel(1, 1, from[0].data + i * from[0].row, 0, to, 0);
          std::fill_n(to + 1, cols - 1, *to);
        }
      });
    }}};
  }
};

/// The members of an op of two operands that broadcast: `Function::of` takes two of float, double and, with
/// Integers::yes, std::int32_t.
template <class Function, kernels::Binary* kernels::Table::*kKernel, Integers kIntegers = Integers::no>
struct Binary {
  static Types infer(const Types& in) { return {elementwise_type(in, 2, kIntegers)}; }
  static AxesRule axes(const Types& in) { return elementwise_rule(in, infer(in)[0].shape); }
  static Alias alias(const Types& in) { return elementwise_alias(in, infer(in)[0]); }
  static void run(Tiles in, Tiles out) {
    switch (out[0].dtype) {
      case DType::f64:
        out[0].as<double>()[0] = Function::of(in[0].as<double>()[0], in[1].as<double>()[0]);
        return;
      case DType::f32:
        plain_elementwise<float, float, float>(out[0], in,
                                               [](float a, float b) { return Function::of(a, b); });
        return;
      default:
        if constexpr (kIntegers == Integers::yes) {
          plain_elementwise<std::int32_t, std::int32_t, std::int32_t>(
              out[0], in, [](std::int32_t a, std::int32_t b) { return Function::of(a, b); });
        }
    }
  }
  static Kernels kernels(const Types& in) {
    if (in[0].dtype != DType::f32) return {};
    return {{[](const void*, const Context& context, Tiles x, Tiles y) {
      const auto kernel = kernels::table(context.target).*kKernel;
      rows_and_columns<2>(y[0], x, [&](Index rows, Index cols, const auto& from, float* to, Index to_row) {
        kernel(rows, cols, from[0], from[1], to, to_row);
      });
    }}};
  }
};

}  // namespace wafer::inline v0::ops
