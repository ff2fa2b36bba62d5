// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elementwise.hpp"

#include <cmath>
#include <string>
#include <string_view>

// What the update ops of optimizers share.
namespace wafer::inline v0::ops {

/// Throws UserError unless the first inputs are `states` tensors of f32 and one shape, and the rest `scalars`
/// scalars of f32. `what` lists all of them for the message.
inline void expect_update(const Types& in, std::size_t states, std::size_t scalars, std::string_view what) {
  bool fits = in.size() == states + scalars;
  for (std::size_t i = 0; fits && i < in.size(); ++i) {
    fits = in[i] == TensorType{DType::f32, i < states ? in[0].shape : Shape{}};
  }
  if (!fits) throw UserError("expected " + std::string(what) + ", got " + text_of(in));
}

/// a·b + c as the kernels of a target compute it, so that plain references give the same bits.
struct MultiplyAdd {
  explicit MultiplyAdd(KernelTarget target)
      : fused(target != KernelTarget::portable && target != KernelTarget::sse4) {}
  float operator()(float a, float b, float c) const { return fused ? std::fma(a, b, c) : a * b + c; }
  bool fused;
};

/// Calls f(n, offsets) for runs whose elements are adjacent in every operand; single elements where there are
/// none.
template <class F>
void for_each_adjacent_run(const Tile& first, Tiles others, const F& f) {
  const LoopNest nest = loop_nest(first, others);
  const Index n = nest.run();
  bool adjacent = true;
  for (std::size_t o = 0; o < nest.operands; ++o)
    adjacent = adjacent && (n == 1 || nest.run_stride()[o] == 1);
  nest.for_each_run([&](LoopNest::Offsets offsets) {
    if (adjacent) return f(n, offsets);
    for (Index i = 0; i < n; ++i) {
      f(1, offsets);
      for (std::size_t o = 0; o < nest.operands; ++o) offsets[o] += nest.run_stride()[o];
    }
  });
}

}  // namespace wafer::inline v0::ops
