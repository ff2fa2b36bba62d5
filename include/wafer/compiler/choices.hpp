// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/graph/tensor.hpp>

#include <cstdint>
#include <string>

namespace wafer::inline v0 {

/// What is a matter of choice: an input of every pass. The search proposes it, passes never reach back.
struct Choices {
  /// Where a factor of the whole step is cut: along one direction of the mesh, in some pieces.
  struct Cut {
    bool active = false;
    Mesh direction = Mesh::rows;
    Index parts = 1;
  };
  Index micro_batches = 1;
  Cut batch{};                               ///< the batch axis
  Cut feature{};                             ///< one further factor: the class of dimensions below
  std::uint32_t feature_value = 0xffffffff;  ///< a value of that class, and its dimension
  int feature_dim = 0;
  Index workers = 1;  ///< threads to plan tiles for
  /// 0: ops are cut where that costs least. Otherwise each op that can be cut is, or not, at random: for
  /// tests.
  std::uint64_t random_cuts = 0;

  /// "batch on rows in 4, feature (fc1 512) on columns in 2, micro-batches 1": for dumps.
  std::string text() const;
};

}  // namespace wafer::inline v0
