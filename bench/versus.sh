#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Training steps of wafer against other libraries, in turn, in one run.   usage: bench/versus.sh PEERS_FOLDER [ROUNDS]
# PEERS_FOLDER holds the peers' programs (libtorch_train.cpp, dlib_train.cpp, torch_train.py, jax_train.py, floor.cpp,
# torch_floor.py, peak.cpp), which print `name metric value` lines. Each round (default 5) runs all of them once: `mlp`
# (784-512-512-10, batch 128) on two threads and `mlps` (64-32-10, batch 32) on one. Prints each program's median step
# and the medians of the rounds' ratios to wafer.
# env: BUILD (build/release), OUT (build/versus: binaries and raw output), NEWEST_PY (a python with PyTorch >= 2.4 and
# JAX), OLD_PY (/usr/bin/python3, with Debian's PyTorch). What is missing is left out, and said.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$(realpath "${1:?usage: bench/versus.sh PEERS_FOLDER [ROUNDS]}")
rounds=${2:-5}
build=$(realpath "${BUILD:-build/release}")
out=$(realpath -m "${OUT:-build/versus}")
old_py=${OLD_PY:-/usr/bin/python3} new_py=${NEWEST_PY:-}
libraries=/usr/lib/$(uname -m)-linux-gnu
mkdir -p "$out/bin"
rm -f "$out"/round_*.txt
cmake --build "$build" --target bench_train >"$out/build.log"

# OpenBLAS 0.3.21 does not know the newest CPUs, and then uses code that is years older.
if grep -q avx512vl /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX; fi
# Peers with OpenMP at their best: one runtime, bound threads. wafer's own threads are left alone.
two() { env LD_LIBRARY_PATH="$libraries/openblas-openmp" OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 BLIS_NUM_THREADS=2 \
            OMP_PROC_BIND=true "$@"; }
one() { env LD_LIBRARY_PATH="$libraries/openblas-openmp" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 \
            taskset -c 0 "$@"; }
new_two() { env -u LD_LIBRARY_PATH OMP_NUM_THREADS=2 OMP_PROC_BIND=true "$new_py" "$@"; }
new_one() { env -u LD_LIBRARY_PATH OMP_NUM_THREADS=1 taskset -c 0 "$new_py" "$@"; }

# compile NAME SOURCE FLAG...: builds a peer once
compile() {
  local name=$1 source=$2; shift 2
  [ "$out/bin/$name" -nt "$peers/$source" ] && return
  g++ "$peers/$source" -I"$peers" -o "$out/bin/$name" "$@" 2>"$out/$name.log" || echo "# $name does not build here: left out"
}
fast=(-O3 -march=native -std=c++20 -DNDEBUG)
lean=("${fast[@]}" -fno-math-errno -fno-trapping-math -fopenmp)
compile peak peak.cpp "${fast[@]}" -pthread
compile floor_openblas floor.cpp "${lean[@]}" "$libraries/openblas-openmp/libopenblas.so.0"
compile floor_blis floor.cpp "${lean[@]}" "$libraries/blis-openmp/libblis.so.4"
compile floor_dnnl floor.cpp "${lean[@]}" -DB_DNNL -ldnnl
compile libtorch_train libtorch_train.cpp -O2 -std=c++17 -I/usr/include/torch/csrc/api/include -ltorch -ltorch_cpu -lc10
compile dlib_train dlib_train.cpp "${fast[@]}" $(pkg-config --cflags --libs dlib-1 2>/dev/null || true)
"$old_py" -c 'import torch' 2>/dev/null || { echo "# $old_py has no PyTorch: left out"; old_py=; }
[ -n "$new_py" ] || echo "# NEWEST_PY is not set: PyTorch 2 and JAX are left out"

# measure COMMAND...: a program of one round; one that fails is left out of it
measure() { "$@" >>"$raw" 2>>"$out/errors.log" || true; }
peer() { local how=$1 name=$2; shift 2; [ ! -x "$out/bin/$name" ] || measure "$how" "$out/bin/$name" "$@"; }

for round in $(seq "$rounds"); do
  raw=$out/round_$round.txt
  : >"$raw"
  peer env peak
  for library in openblas blis dnnl; do peer two floor_$library $library 2; done
  [ -z "$new_py" ] || measure new_two "$peers/torch_floor.py" 2
  for optimizer in sgd adam; do
    measure "$build/bench/bench_train" mlp $optimizer 2 3
    peer two libtorch_train mlp $optimizer 2 3
    peer two dlib_train mlp $optimizer 3
    if [ -n "$old_py" ]; then
      for mode in eager trace foreach; do measure two "$old_py" "$peers/torch_train.py" mlp $optimizer $mode 2 3; done
    fi
    if [ -n "$new_py" ]; then
      for mode in eager fused compile; do measure new_two "$peers/torch_train.py" mlp $optimizer $mode 2 3; done
      measure new_two "$peers/jax_train.py" mlp $optimizer 2 3
    fi
  done
  measure "$build/bench/bench_train" mlps sgd 1 2
  peer one dlib_train mlps sgd 2
  peer one libtorch_train mlps sgd 1 2
  [ -z "$old_py" ] || measure one "$old_py" "$peers/torch_train.py" mlps sgd eager 1 2
  if [ -n "$new_py" ]; then
    for mode in eager fused compile; do measure new_one "$peers/torch_train.py" mlps sgd $mode 1 2; done
    measure new_one "$peers/jax_train.py" mlps sgd 1 2
  fi
  echo "# round $round of $rounds"
done

# Medians over the rounds; a ratio is taken within each round, and is above 1 where wafer is faster.
awk '
  FNR == 1 { round++ }
  NF == 3 && ($2 == "step_ms" || $2 == "GFLOPs_median") { value[$1, round] = $3; if (!($1 in seen)) { seen[$1]; names[++count] = $1 } }
  function median(list, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  # The fastest of the programs whose name matches, in each round, against ours.
  function versus(label, ours, pattern,   r, i, n, best, all) {
    for (r = 1; r <= round; r++) {
      best = 0
      for (i = 1; i <= count; i++)
        if (names[i] ~ pattern && (names[i], r) in value && (!best || value[names[i], r] < best)) best = value[names[i], r]
      if (best && (ours, r) in value) all[++n] = best / value[ours, r]
    }
    if (n) printf "versus_%s ratio %.2f (median of %d rounds, %.2f..%.2f)\n", label, median(all, n), n, all[1], all[n]
  }
  END {
    for (i = 1; i <= count; i++) {
      n = 0
      for (r = 1; r <= round; r++) if ((names[i], r) in value) list[++n] = value[names[i], r]
      m = median(list, n)
      if (names[i] ~ /^peak/) printf "%s GFLOPs %.1f (%.1f..%.1f)\n", names[i], m, list[1], list[n]
      else if (names[i] !~ /gpt/) printf "%s step_ms %.4g (%.4g..%.4g)\n", names[i], m, list[1], list[n]
    }
    for (o = 1; o <= 2; o++) {
      optimizer = o == 1 ? "sgd" : "adam"
      ours = "train_wafer_mlp_" optimizer "_t2"
      versus("mlp_" optimizer "_newest", ours, "train_(torch2|jax).*_mlp_" optimizer)
      versus("mlp_" optimizer "_libtorch", ours, "train_libtorch_mlp_" optimizer)
      versus("mlp_" optimizer "_torch1", ours, "train_torch_.*mlp_" optimizer)
      versus("mlp_" optimizer "_dlib", ours, "train_dlib_mlp_" optimizer)
      versus("mlp_" optimizer "_floor", ours, "floor_gemm_.*_mlp_t2")
    }
    ours = "train_wafer_mlps_sgd_t1"
    versus("mlps_sgd_dlib", ours, "train_dlib_mlps_sgd")
    versus("mlps_sgd_jax", ours, "train_jax_mlps_sgd")
    versus("mlps_sgd_torch", ours, "train_(lib)?torch.*_mlps_sgd")
  }' "$out"/round_*.txt
