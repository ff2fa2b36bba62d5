# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0

# Warnings are errors for us, never for a project that contains us.
function(wafer_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Wpedantic)
  # False alarms about the standard library in instrumented code.
  if(WAFER_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE -Werror)
    # GCC 12 reports these in its own library when it inlines std::string and std::vector.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -Wno-error=restrict -Wno-error=maybe-uninitialized
        -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread)
    endif()
  endif()
endfunction()

# The bits of results are promised: the compiler contracts, reorders and assumes nothing.
function(wafer_exact_arithmetic target)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-fast-math)
endfunction()

if(NOT PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    message(WARNING "wafer: no CMAKE_BUILD_TYPE, so its kernels are compiled without optimisation; set Release")
  endif()
  return()
endif()

if(WAFER_SANITIZE)
  add_compile_options(-fsanitize=${WAFER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WAFER_SANITIZE})
  # Saves GCC long thoughts, and notes that it gave up on them.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fno-var-tracking-assignments)
  endif()
endif()

find_program(WAFER_CCACHE ccache)
mark_as_advanced(WAFER_CCACHE)
if(WAFER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WAFER_CCACHE})
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
