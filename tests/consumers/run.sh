#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Installs the static and the shared library and uses them from separate projects, as a host would. Each folder here
# with a CMakeLists.txt is such a project; its program is called `consumer`. Ends with
# `N passed, M failed, K not run`. Everything made goes to build/consumers; the static library is build/release's.
set -uo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/consumers work=$PWD/build/consumers data=/usr/share/datasets/fashion-mnist
passed=0 failed=0 not_run=0

pass() { echo "passed: $1"; passed=$((passed + 1)); }
fail() { echo "failed: $1"; failed=$((failed + 1)); }
skip() { echo "not run: $1: $2"; not_run=$((not_run + 1)); }
# expect NAME COMMAND...: a case that passes if the command succeeds; its output is shown if not
expect() {
  local name=$1 log; shift
  if log=$("$@" 2>&1); then pass "$name"; else fail "$name"; printf '%s\n' "$log" | tail -n 40; fi
}

# install_library BUILD_DIR PREFIX... -- CMAKE_ARGUMENTS...
install_library() {
  local dir=$1 prefixes=(); shift
  while [ "$1" != -- ]; do prefixes+=("$1"); shift; done
  shift
  cmake --preset release -B "$dir" "$@" && cmake --build "$dir" -j "$(nproc)" --target wafer || return 1
  local prefix
  for prefix in "${prefixes[@]}"; do cmake --install "$dir" --prefix "$prefix" || return 1; done
}

# use PROJECT COMPILER LABEL CMAKE_ARGUMENTS...: configures, builds and runs a project of this folder
use() {
  local project=$1 compiler=$2 dir=$work/$1-$2-$3; shift 3
  cmake -S "$here/$project" -B "$dir" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" "$@" &&
    cmake --build "$dir" -j "$(nproc)" && (cd "$work/data" && "$dir/consumer" >"$dir/output" 2>&1 || {
      tail -n 20 "$dir/output"
      false
    })
}

# refused TEXT COMMAND...: the command must fail and say TEXT
refused() {
  local text=$1 log; shift
  if log=$("$@" 2>&1); then echo "this should have failed"; return 1; fi
  grep -qF -- "$text" <<<"$log" || { printf 'expected: %s\ngot:\n%s\n' "$text" "$log"; return 1; }
}

# lacks MEMBER COMPILER...: an op without this member is one error, which says what it should be
lacks() {
  local member=$1 log; shift
  { sed "s/ $member(/ other_$member(/" "$here/own_op/clip.hpp"
    echo 'wafer::Tensor clip(wafer::Tensor x) { return x | own::Clip{}; }'; } >"$work/lacks_$member.cpp"
  if log=$("$@" -std=c++20 -fsyntax-only "${cflags[@]}" "$work/lacks_$member.cpp" 2>&1); then
    echo "this should have failed"
    return 1
  fi
  [ "$(grep -c 'error: ' <<<"$log")" = 1 ] && grep -q "error: .*an op has .* $member(" <<<"$log" || { printf '%s\n' "$log"; return 1; }
}

# asks_for SYMBOL COMPILE_COMMAND...: the object leaves SYMBOL to the linker
asks_for() {
  local symbol=$1; shift
  "$@" -c && nm -u "$work/mismatch" | grep -wF -- "$symbol"
}

# AVX only in functions that were compiled for a target with AVX and are reached through its table.
guarded_instructions() {
  objdump -d -C --no-show-raw-insn "$1" | awk '
    /^[0-9a-f]+ <.*>:$/ { name = $0; sub(/^[0-9a-f]+ /, "", name); guarded = name ~ /::N_AVX[0-9A-Z_]*::/; next }
    !guarded && ($0 ~ /%[yz]mm/ || $2 ~ /^v[a-z]/) && $2 !~ /^(verr|verw|vmcall)/ && !(name in seen) {
      seen[name] = 1; print name; print $0; bad = 1
    }
    END { exit bad }'
}

# The shared library has the flags and depth of folder of build/release, so that a compiler cache serves both.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
rm -rf "$work"
mkdir -p "$work/data"
for file in "$data"/*.gz; do if [ -e "$file" ]; then ln -s "$file" "$work/data/"; fi; done

expect "static library installs" install_library build/release "$work/static" "$work/both" --
expect "shared library installs" install_library build/shared "$work/shared" "$work/both" -- \
  -DBUILD_SHARED_LIBS=ON -DWAFER_BUILD_TESTS=OFF -DWAFER_BUILD_EXAMPLES=OFF -DWAFER_BUILD_BENCH=OFF

# What only bridges include is no need of a host's.
no_arrays=(-DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON)

for kind in static shared; do
  expect "both kinds in one prefix, component $kind" \
    use version g++ "both-$kind" -DCMAKE_PREFIX_PATH="$work/both" -DWAFER_KIND="$kind" "${no_arrays[@]}"
done

for list in "$here"/*/CMakeLists.txt; do
  project=$(basename "$(dirname "$list")")
  case $project in
    version) continue ;;
    twenty_lines | subdirectory)
      if [ ! -e "$work/data/train-images-idx3-ubyte.gz" ]; then skip "$project" "no Fashion-MNIST in $data"; continue; fi ;;
  esac
  if [ "$project" = subdirectory ]; then
    expect "$project, g++" use "$project" g++ source -DCMAKE_CXX_FLAGS=-O1 "${no_arrays[@]}"
    continue
  fi
  for kind in static shared; do
    expect "$project, $kind, g++" use "$project" g++ $kind -DCMAKE_PREFIX_PATH="$work/$kind"
  done
  if [ "$project" = two_units ]; then continue; fi  # Clang's -flto needs a linker plugin that Debian's clang lacks
  if command -v clang++ >/dev/null; then
    expect "$project, static, clang++" use "$project" clang++ static -DCMAKE_PREFIX_PATH="$work/static"
  else
    skip "$project, static, clang++" "no clang++"
  fi
done

# A host's own instruction sets change what its Eigen and xtensor align and inline, and nothing of the library.
for flag in avx2 avx512f; do
  if ! grep -qw "$flag" /proc/cpuinfo; then skip "bridges, -m$flag in the host alone" "the CPU lacks it"; continue; fi
  expect "bridges, -m$flag in the host alone" use bridges g++ "$flag" -DCMAKE_PREFIX_PATH="$work/static" \
    -DCMAKE_CXX_FLAGS="-O2 -mfma -m$flag"
done

export PKG_CONFIG_PATH=$work/static/lib/pkgconfig
stem=wafer_$(pkg-config --modversion wafer | tr . _)
read -r -a cflags <<<"$(pkg-config --cflags wafer)"
read -r -a libs <<<"$(pkg-config --libs --static wafer)"
mkdir -p "$work/other_version/wafer"
sed 's/^#define WAFER_VERSION_MINOR .*/#define WAFER_VERSION_MINOR 99/' "$work/static/include/wafer/config.hpp" \
  >"$work/other_version/wafer/config.hpp"
for compiler in g++ clang++; do
  if ! command -v $compiler >/dev/null; then skip "mixed builds, $compiler" "no $compiler"; continue; fi
  build=("$compiler" -std=c++20 -O2 -Wall -Wextra -Wconversion -Werror "$here/mismatch/main.cpp" -o "$work/mismatch")
  expect "pkg-config, $compiler" "${build[@]}" "${cflags[@]}" "${libs[@]}"
  for sanitizer in address thread; do
    symbol=${stem}_built_with_${sanitizer}_sanitizer
    if [ $compiler = g++ ]; then
      expect "$sanitizer sanitizer in the host alone is a link error, $compiler" \
        refused "$symbol" "${build[@]}" -fsanitize=$sanitizer "${cflags[@]}" "${libs[@]}"
    else  # which may lack the run-time libraries of its sanitizers, so only what the object asks for is looked at
      expect "$sanitizer sanitizer in the host alone is an unknown symbol, $compiler" \
        asks_for "$symbol" "${build[@]}" -fsanitize=$sanitizer "${cflags[@]}"
    fi
  done
  expect "headers of another version are a link error, $compiler" refused \
    "wafer_0_99_0_built_without_sanitizer" "${build[@]}" -I"$work/other_version" "${cflags[@]}" "${libs[@]}"
  for flag in -ffast-math -Ofast -ffinite-math-only; do  # the second is deprecated in Clang 19
    expect "$flag in the host is refused, $compiler" refused "wafer needs NaN and infinity" \
      "${build[@]}" $flag -Wno-deprecated "${cflags[@]}" "${libs[@]}"
  done
  expect "C++17 in the host is refused, $compiler" refused "wafer needs C++20" \
    "${build[@]}" -std=c++17 "${cflags[@]}" "${libs[@]}"
done

for compiler in g++ clang++; do
  command -v $compiler >/dev/null || { skip "an op that lacks a member, $compiler" "no $compiler"; continue; }
  for member in attributes infer axes run; do expect "an op without $member, $compiler" lacks $member $compiler; done
done

# What would be fed transposed, with gaps, or not at all says so when compiling.
read -r -a array_flags <<<"$(pkg-config --cflags eigen3 xtensor)"
while IFS='|' read -r expression text; do
  expect "no $expression" refused "$text" g++ -std=c++20 -fsyntax-only "${cflags[@]}" "${array_flags[@]}" \
    -DEXPRESSION="$expression" "$here/bridges/refused.cpp"
done <<'END'
feed("x", Eigen::MatrixXf(2, 3))|takes no column-major matrix, which would be fed transposed
feed("x", matrix.transpose())|takes no column-major matrix, which would be fed transposed
feed("x", matrix + matrix)|takes no expression without memory
feed("x", Eigen::Map<const RowMajorMatrix<float>, 0, Eigen::InnerStride<2>>(matrix.data(), 2, 3))|takes no matrix with gaps
feed("x", matrix.cast<double>().eval())|takes float or std::int32_t
set_variable(session, "w", matrix.cast<double>())|takes float
feed("x", xt::xarray<float, xt::layout_type::column_major>(array))|takes no column-major array, which would be fed transposed
feed("x", array + array)|takes no lazy expression
feed("x", xt::xarray<double>(array))|takes float or std::int32_t
set_variable(session, "w", xt::cast<double>(array))|takes float
END

expect "no AVX outside functions of an AVX target" guarded_instructions "$work/static/lib/libwafer.a"

printf '%d passed, %d failed, %d not run\n' "$passed" "$failed" "$not_run"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
