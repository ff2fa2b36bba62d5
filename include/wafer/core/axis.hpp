// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <string>

namespace wafer::inline v0 {

/// A named axis of a graph. Its extent is the greatest one; the one of a run is read from the feeds.
struct Axis {
  std::string name;
  Index extent = 0;
  int id = -1;  ///< index in the graph that made it
};

}  // namespace wafer::inline v0
