// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "core/initialize.hpp"

#include <wafer/core/rng.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace wafer::inline v0 {

void check_init(std::string_view path, const Init& init) {
  const bool known = init.kind == Init::Kind::constant || init.kind == Init::Kind::uniform;
  if (known && std::isfinite(static_cast<float>(init.value))) return;
  throw UserError("parameter '" + std::string(path) +
                  "': expected an initial value that is finite as f32, got " +
                  (known ? std::to_string(init.value) : "an unknown kind"));
}

void initialize(const Init& init, std::string_view path, std::uint64_t seed, Index first,
                std::span<float> out) {
  const auto value = static_cast<float>(init.value);
  switch (init.kind) {
    case Init::Kind::constant: std::fill(out.begin(), out.end(), value); return;
    case Init::Kind::uniform:
      fill_uniform(seed, hash_of(path), static_cast<std::uint64_t>(first), -value, value, out);
      return;
  }
}

}  // namespace wafer::inline v0
