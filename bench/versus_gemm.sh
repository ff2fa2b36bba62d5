#!/usr/bin/env bash
# SPDX-FileCopyrightText: The wafer authors
# SPDX-License-Identifier: Apache-2.0
# Matrix products of wafer against other libraries, in turn.   usage: bench/versus_gemm.sh PEERS_FOLDER [ROUNDS] [THREADS...]
# PEERS_FOLDER holds gemm.cpp (Eigen, OpenBLAS, BLIS, oneDNN) and torch_gemm.py (MKL in PyTorch 2), which print
# `gemm_<library>_<shape>_t<threads> GFLOPs V`. Each round (default 9) runs all of them once, on one thread and on
# two. Prints for each shape the median of the rounds' ratios of wafer to the fastest of the others, and the
# geometric mean of these.
# env: BUILD (build/release), OUT (build/versus), NEWEST_PY (a python with PyTorch 2). What is missing is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$(realpath "${1:?usage: bench/versus_gemm.sh PEERS_FOLDER [ROUNDS] [THREADS...]}")
rounds=${2:-9}
threads=("${@:3}")
[ ${#threads[@]} -gt 0 ] || threads=(1 2)
build=$(realpath "${BUILD:-build/release}")
out=$(realpath -m "${OUT:-build/versus}")
libraries=/usr/lib/$(uname -m)-linux-gnu
mkdir -p "$out/bin"
rm -f "$out"/gemm_round_*.txt
cmake --build "$build" --target bench_gemm >"$out/build.log"
if grep -q avx512vl /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX; fi

compile() {
  local name=$1; shift
  [ "$out/bin/$name" -nt "$peers/gemm.cpp" ] && return
  g++ "$peers/gemm.cpp" -I"$peers" -o "$out/bin/$name" -O3 -march=native -std=c++20 -DNDEBUG -fno-math-errno \
      -fno-trapping-math "$@" 2>"$out/$name.log" || echo "# $name does not build here: left out"
}
compile gemm_eigen -DB_EIGEN -I/usr/include/eigen3 -ltbb
compile gemm_openblas -DB_BLAS "$libraries/openblas-openmp/libopenblas.so.0"
compile gemm_blis -DB_BLAS "$libraries/blis-openmp/libblis.so.4"
compile gemm_dnnl -DB_DNNL -fopenmp -ldnnl

for round in $(seq "$rounds"); do
  raw=$out/gemm_round_$round.txt
  : >"$raw"
  for t in "${threads[@]}"; do
    with=(env "LD_LIBRARY_PATH=$libraries/openblas-openmp" "OMP_NUM_THREADS=$t" "OPENBLAS_NUM_THREADS=$t"
          "BLIS_NUM_THREADS=$t" OMP_PROC_BIND=true)
    "$build/bench/bench_gemm" "$t" >>"$raw"
    for name in eigen openblas blis dnnl; do
      [ ! -x "$out/bin/gemm_$name" ] || "${with[@]}" "$out/bin/gemm_$name" "$t" $name >>"$raw" 2>>"$out/errors.log" || true
    done
    [ -z "${NEWEST_PY:-}" ] || env -u LD_LIBRARY_PATH "OMP_NUM_THREADS=$t" "$NEWEST_PY" "$peers/torch_gemm.py" "$t" >>"$raw"
  done
  echo "# round $round of $rounds"
done

awk '
  FNR == 1 { round++ }
  $2 == "GFLOPs" && match($1, /_(NN|NT|TN)_/) {
    shape = substr($1, RSTART + 1); library = substr($1, 6, RSTART - 6)
    if (library == "wafer") { ours[shape, round] = $3; if (!(shape in seen)) { seen[shape]; shapes[++count] = shape } }
    else if ($3 > best[shape, round]) { best[shape, round] = $3; who[shape, round] = library }
  }
  function median(list, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  END {
    for (s = 1; s <= count; s++) {
      n = m = 0
      for (r = 1; r <= round; r++) if ((shapes[s], r) in best) { list[++n] = ours[shapes[s], r] / best[shapes[s], r]; own[++m] = ours[shapes[s], r] }
      if (!n) continue
      ratio = median(list, n)
      t = substr(shapes[s], length(shapes[s]))
      sum[t] += log(ratio); shapes_of[t]++
      printf "versus_gemm_%s ratio %.3f (wafer %.1f GFLOP/s; fastest other in round 1: %s)\n", shapes[s], ratio, median(own, m), who[shapes[s], 1]
    }
    for (t in sum) printf "versus_gemm_t%s geometric_mean %.3f\n", t, exp(sum[t] / shapes_of[t])
  }' "$out"/gemm_round_*.txt
