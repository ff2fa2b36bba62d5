// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/wafer.hpp>

[[gnu::visibility("default")]] bool plugin_agrees() { return wafer::version() == WAFER_VERSION; }
