// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"

#include <wafer/graph/op.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

// Runs update ops of optimizers on vectors.
namespace wafer_test {

using namespace wafer;
using Floats = std::vector<float>;

/// How an op is run: by its reference or by its kernel for a target, results in memory of their own or in the
/// inputs'.
struct Way {
  bool kernel = false;
  KernelTarget target = KernelTarget::portable;
  bool in_place = false;
  Index stride = 1;  ///< of the elements of every tensor
};

inline std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const bool in_place : {false, true}) {
    for (const Index stride : {1, 3}) {
      for (const KernelTarget target : kernels::kTargets) {
        if (!kernels::supports(target)) continue;
        for (const bool kernel : {false, true}) ways.push_back({kernel, target, in_place, stride});
      }
    }
  }
  return ways;
}

inline Tile vector_tile(float* data, Index size, Index stride) {
  Tile tile;
  tile.data = data;
  tile.rank = 1;
  tile.extent[0] = tile.shape[0] = size;
  tile.stride[0] = stride;
  return tile;
}

/// Results of an update op on tensors and scalars, all of them checked to leave the elements between strides
/// alone.
inline std::vector<Floats> run_update(const OpHandle& op, const std::vector<Floats>& tensors, Floats scalars,
                                      Way way) {
  constexpr float kUntouched = 77;
  const auto size = static_cast<Index>(tensors[0].size());
  const auto slots = static_cast<std::size_t>(std::max<Index>(1, size * way.stride));
  std::vector<Floats> memory(2 * tensors.size(), Floats(slots, kUntouched));
  std::vector<Tile> in, out;
  Types types;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t j = 0; j < tensors[i].size(); ++j) {
      memory[i][j * static_cast<std::size_t>(way.stride)] = tensors[i][j];
    }
    in.push_back(vector_tile(memory[i].data(), size, way.stride));
    types.push_back({DType::f32, {size}});
  }
  for (float& scalar : scalars) {
    in.push_back({});
    in.back().data = &scalar;
    types.push_back({DType::f32, {}});
  }
  const Types results = op.infer(types);
  op.axes(types).check(types, results);
  const Alias alias = op.alias(types);
  REQUIRE(alias.size() == results.size());
  for (std::size_t r = 0; r < results.size(); ++r) {
    REQUIRE(alias[r].result == static_cast<int>(r));
    Floats& own = memory[tensors.size() + r];
    out.push_back(way.in_place ? in[static_cast<std::size_t>(alias[r].input)]
                               : vector_tile(own.data(), size, way.stride));
  }
  Context context;
  context.target = way.target;
  const auto run = way.kernel ? op.kernels(types).at(0).run : op.model().run;
  run(op.get(), context, in, out);
  std::vector<Floats> values;
  for (const Tile& tile : out) {
    values.emplace_back();
    for (Index i = 0; i < size; ++i) values.back().push_back(tile.as<float>()[i * way.stride]);
  }
  for (const Floats& floats : memory) {
    for (std::size_t i = 0; i < floats.size(); ++i) {
      if (i % static_cast<std::size_t>(way.stride) != 0) REQUIRE(floats[i] == kUntouched);
    }
  }
  return values;
}

inline void check_close(const Floats& got, const Floats& expected, double relative = 1e-6) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], expected[i]);
    CHECK(std::abs(double{got[i]} - double{expected[i]}) <= relative * std::abs(double{expected[i]}));
  }
}

}  // namespace wafer_test
