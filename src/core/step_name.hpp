// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// For messages; an executable's only step may have no name.
namespace wafer::inline v0 {

/// "step 'train'", or "the step".
inline std::string step_text(std::string_view name) {
  return name.empty() ? "the step" : "step '" + std::string(name) + "'";
}

/// "step 'train': ", or nothing.
inline std::string at_step(std::string_view name) { return name.empty() ? "" : step_text(name) + ": "; }

}  // namespace wafer::inline v0
