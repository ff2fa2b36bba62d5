// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

void declare_twice() {
  wafer::Graph g;
  g.input("image", {2, 3});
  g.input("image", {2, 3});
}
