// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace wafer::inline v0 {

/// Sizes, extents, strides and offsets: 64-bit and signed everywhere, so that differences are safe.
using Index = std::int64_t;

/// Element type of a tensor. f64 is for scalars only (step number, rates, norms); booleans take one byte.
enum class DType : std::uint8_t { f32, f64, i32, boolean };

/// Bytes of one element.
constexpr Index size_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 4;
    case DType::f64: return 8;
    case DType::i32: return 4;
    case DType::boolean: return 1;
  }
  return 0;
}

/// The short name used in messages and dumps: "f32", "f64", "i32", "bool".
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
    case DType::boolean: return "bool";
  }
  return "?";
}

/// DType of a C++ element type; only the types of DType have one.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0,
                "wafer has no DType for this C++ type; use float, double, std::int32_t or bool");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

}  // namespace wafer::inline v0
