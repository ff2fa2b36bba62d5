// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>
#include <wafer/core/init.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace wafer::inline v0 {

/// Initial values of elements first, first + 1, ... (row-major) of the parameter at `path`. Each depends on
/// path, seed and its own index alone, so any block fills its piece. Uniform values lie in [-bound, bound] of
/// f32.
void initialize(const Init& init, std::string_view path, std::uint64_t seed, Index first,
                std::span<float> out);

}  // namespace wafer::inline v0
