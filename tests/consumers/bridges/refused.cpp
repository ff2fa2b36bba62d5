// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with one EXPRESSION after the other, none of which may compile.
#include <wafer/bridge/eigen.hpp>
#include <wafer/bridge/xtensor.hpp>

using namespace wafer;

void refused([[maybe_unused]] Session& session, [[maybe_unused]] const RowMajorMatrix<float>& matrix,
             [[maybe_unused]] const RowMajorArray<float>& array) {
  EXPRESSION;
}
