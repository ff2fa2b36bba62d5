// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// 100 training steps against PyTorch's figures (tests/oracle/mlp.py), with each optimizer.
// usage: bench_vs_torch [FOLDER of Fashion-MNIST]     prints `vs_torch_sgd max_loss_rel V` and so on; exits 1
// where a difference is out of bounds
#include "../tests/support/oracle_mlp.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    const wafer::data::Dataset set =
        wafer::data::fashion_mnist(argc > 1 ? argv[1] : WAFER_FASHION_MNIST, "train");
    bool good = true;
    for (const bool adamw : {false, true}) {
      const oracle::Differences d =
          oracle::train_and_compare(adamw, set, oracle::mlp_figures(adamw), wafer::Fabric::host());
      const char* name = adamw ? "vs_torch_adamw" : "vs_torch_sgd";
      std::printf("%s max_loss_rel %.3g\n%s max_weight_abs %.3g\n%s max_sum_rel %.3g\n", name, d.loss_rel,
                  name, d.weight_abs, name, d.sum_rel);
      good = good && d.within_bounds();
    }
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
