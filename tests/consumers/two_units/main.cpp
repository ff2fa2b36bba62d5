// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

bool plugin_agrees();
void declare_twice();

int main() {
  if (!plugin_agrees()) return 1;
  try {
    declare_twice();
  } catch (const wafer::UserError&) {  // thrown by the library, caught by a host that hides its own symbols
    return 0;
  }
  return 2;
}
