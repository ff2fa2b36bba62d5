// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/config.hpp>

int main() { return wafer::version() == WAFER_VERSION ? 0 : 1; }
