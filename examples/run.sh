#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the library and the examples, and trains on Fashion-MNIST. Ends with `test_accuracy 0.NNNN`.
# usage: examples/run.sh [FOLDER]    where Fashion-MNIST's four .gz files are (default: the Debian package's)
set -euo pipefail
data=$(realpath -m "${1:-/usr/share/datasets/fashion-mnist}")
cd "$(dirname "$0")/.."

cmake/setup.sh build examples
mkdir -p build
if ! cmake --preset release -DWAFER_BUILD_TESTS=OFF -DWAFER_BUILD_BENCH=OFF >build/release-configure.log 2>&1; then
  cat build/release-configure.log >&2
  exit 1
fi
cmake --build build/release -j "$(nproc)" --target examples
build/release/examples/example_02_fashion_mnist "$data"
