#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the tests.   usage: tests/run.sh [quick|full|all]   (default: full)
#   quick  the optimised build and its tests
#   full   also address, undefined and thread sanitizers, Clang, and the consumer projects
#   all    also every benchmark, with its default arguments
# Ends with the line `N passed, M failed, K not run` over everything; fails if anything failed or nothing passed.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-full}
case $mode in
  quick) cmake/setup.sh build tests ;;
  full | all) cmake/setup.sh build tests clang ;;
  *) echo "usage: tests/run.sh [quick|full|all]" >&2; exit 2 ;;
esac

mkdir -p build
not_run_list=build/tests-not-run.txt failed_list=build/tests-failed.txt
: >"$not_run_list"; : >"$failed_list"
passed=0 failed=0 not_run=0

say() { printf '\n== %s\n' "$*"; }

# count NAME PASSED FAILED NOT_RUN
count() {
  passed=$((passed + $2)) failed=$((failed + $3)) not_run=$((not_run + $4))
  echo "$1: $2 passed, $3 failed, $4 not run"
  [ "$3" -eq 0 ] || echo "$1" >>"$failed_list"
}

# Adds up a JUnit file of CTest. A program that closes with `N passed, M failed, K not run` counts as that; any other
# as one case; and one that ends badly has a failure whatever it says.
tally_of_junit() {
  awk '
    function close_test() {
      if (status == "") return
      if (!tallied && status == "run") p++
      if (!tallied && (status == "notrun" || status == "disabled")) { if (skipped) k++; else f++ }
      if (status == "fail" && !own_failures) f++
      status = ""
    }
    /<testcase / {
      close_test()
      match($0, /status="[a-z]+"/); status = substr($0, RSTART + 8, RLENGTH - 9)
      tallied = own_failures = skipped = 0
    }
    /<skipped message="SKIP_RETURN_CODE/ { skipped = 1 }
    /^(\t*<system-out>)?[0-9]+ passed, [0-9]+ failed, [0-9]+ not run$/ {
      sub(/.*>/, ""); p += $1; f += $3; k += $5; tallied = 1; own_failures += $3
    }
    END { close_test(); print p + 0, f + 0, k + 0 }' "$1"
}

# build PRESET TARGET...: configures and builds; a failure is counted
build() {
  local preset=$1; shift
  say "$preset: build"
  if cmake --preset "$preset" >"build/$preset-configure.log" 2>&1; then
    cmake --build "build/$preset" -j "$(nproc)" --target "$@" && return 0
  else
    cat "build/$preset-configure.log"
  fi
  count "$preset build" 0 1 0
  return 1
}

# run_tests PRESET CTEST_ARGUMENTS...
run_tests() {
  local preset=$1 junit=$PWD/build/$1/tests.xml tally; shift
  say "$preset: tests"
  rm -f "$junit"
  "${launcher[@]}" ctest --test-dir "build/$preset" --output-on-failure --output-junit "$junit" -j "$(nproc)" \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 "$@" || true
  if [ ! -f "$junit" ]; then count "$preset tests" 0 1 0; return; fi
  read -r -a tally <<<"$(tally_of_junit "$junit")"
  count "$preset tests" "${tally[@]}"
  sed -n "s/^\t*<system-out>//; s/^not run: /$preset: /p" "$junit" >>"$not_run_list"
}

# run_program NAME COMMAND...: one program that is one case, or closes with a tally of its own
run_program() {
  local name=$1 log=build/$1.log tally status=0; shift
  say "$name"
  "$@" 2>&1 | tee "$log" || status=$?
  tally=$(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) not run$/\1 \2 \3/p')
  [ -n "$tally" ] || tally="$((status == 0)) 0 0"
  read -r -a tally <<<"$tally"
  [ "$status" -eq 0 ] || [ "${tally[1]}" -ne 0 ] || tally[1]=1
  count "$name" "${tally[@]}"
  sed -n "s/^not run: /$name: /p" "$log" >>"$not_run_list"
}

export UBSAN_OPTIONS=print_stacktrace=1 CTEST_OUTPUT_ON_FAILURE=1
# Paths relative to the project let builds with the same flags share what the compiler cache holds.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
launcher=()

if [ "$mode" = quick ]; then
  if build release tests; then run_tests release; fi
else
  if build release all; then run_tests release; fi
  if build asan tests; then run_tests asan; fi
  # The thread sanitizer of GCC 12 does not know the address layouts that newer kernels choose at random.
  if setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
  if build tsan tests_threaded; then run_tests tsan -L '^(runtime|e2e)$'; fi
  launcher=()
  if build clang all; then run_tests clang -L '^(unit|ops|golden)$'; fi
  run_program consumers tests/consumers/run.sh
fi
if [ "$mode" = all ]; then
  for program in build/release/bench/bench_*; do
    if [ -f "$program" ] && [ -x "$program" ]; then run_program "${program##*/}" "$program"; fi
  done
fi

if [ -s "$not_run_list" ]; then say "not run"; sort -u "$not_run_list"; fi
if [ -s "$failed_list" ]; then say "failed"; cat "$failed_list"; fi
printf '\n%d passed, %d failed, %d not run\n' "$passed" "$failed" "$not_run"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
