// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/config.hpp>

extern "C" const char WAFER_DETAIL_BUILD_NAME(wafer) = 0;

namespace wafer::inline v0 {

std::string_view version() noexcept { return WAFER_VERSION; }

}  // namespace wafer::inline v0
