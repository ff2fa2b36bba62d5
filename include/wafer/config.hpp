// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "wafer needs C++20: compile with -std=c++20 or a later standard"
#endif

#include <string_view>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "wafer needs NaN and infinity: remove -ffast-math, -Ofast and -ffinite-math-only"
#endif

// The one place where the version stands; CMakeLists.txt reads it from here.
#define WAFER_VERSION_MAJOR 0
#define WAFER_VERSION_MINOR 1
#define WAFER_VERSION_PATCH 0

#define WAFER_DETAIL_STRING_OF(major, minor, patch) #major "." #minor "." #patch
#define WAFER_DETAIL_STRING(major, minor, patch) WAFER_DETAIL_STRING_OF(major, minor, patch)
/// The version of the headers as a string: "0.1.0".
#define WAFER_VERSION WAFER_DETAIL_STRING(WAFER_VERSION_MAJOR, WAFER_VERSION_MINOR, WAFER_VERSION_PATCH)

// Which sanitizer this translation unit is built with. (Undefined-behaviour checks change no layout and
// announce themselves by no macro; they may differ.)
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WAFER_DETAIL_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define WAFER_DETAIL_THREAD_SANITIZER
#elif __has_feature(memory_sanitizer)
#define WAFER_DETAIL_MEMORY_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WAFER_DETAIL_ADDRESS_SANITIZER)
#define WAFER_DETAIL_BUILT built_with_address_sanitizer
#elif defined(__SANITIZE_THREAD__) || defined(WAFER_DETAIL_THREAD_SANITIZER)
#define WAFER_DETAIL_BUILT built_with_thread_sanitizer
#elif defined(WAFER_DETAIL_MEMORY_SANITIZER)
#define WAFER_DETAIL_BUILT built_with_memory_sanitizer
#else
#define WAFER_DETAIL_BUILT built_without_sanitizer
#endif

#define WAFER_DETAIL_JOIN_OF(prefix, major, minor, patch, built) \
  prefix##_##major##_##minor##_##patch##_##built
#define WAFER_DETAIL_JOIN(prefix, major, minor, patch, built) \
  WAFER_DETAIL_JOIN_OF(prefix, major, minor, patch, built)
#define WAFER_DETAIL_BUILD_NAME(prefix) \
  WAFER_DETAIL_JOIN(prefix, WAFER_VERSION_MAJOR, WAFER_VERSION_MINOR, WAFER_VERSION_PATCH, WAFER_DETAIL_BUILT)

/// Defined by the library alone, under a name that tells version and sanitizer. A host that includes other
/// headers or uses another sanitizer than the library it links asks for another name, and the linker says
/// which.
extern "C" [[gnu::visibility("default")]] const char WAFER_DETAIL_BUILD_NAME(wafer);

namespace wafer::inline v0 {

/// Version of the library that is linked, as "major.minor.patch"; equal to WAFER_VERSION of the headers.
std::string_view version() noexcept;

#ifndef WAFER_BUILDING_LIBRARY
// One pointer in the whole program; its own name tells the build too, so that two builds never merge.
[[gnu::used]] inline const char* const WAFER_DETAIL_BUILD_NAME(needs) = &::WAFER_DETAIL_BUILD_NAME(wafer);
#endif

}  // namespace wafer::inline v0
