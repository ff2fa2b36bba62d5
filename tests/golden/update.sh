#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Writes the golden files anew from what the code plans now; look at the difference before you keep it.
# usage: tests/golden/update.sh [BUILD_FOLDER]    (default: build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
cmake --build "$build" --target tests_golden
WAFER_UPDATE_GOLDEN=1 "$build/tests/tests_golden"
