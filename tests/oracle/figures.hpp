// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace oracle {

/// What mlp.py says of one final tensor.
struct TensorFigures {
  double sum = 0;         ///< of all elements, in f64
  double magnitudes = 0;  ///< sum of their magnitudes, in f64
  std::size_t stride = 0;
  std::vector<double> samples;  ///< elements 0, stride, 2 stride, ... in row-major order, to 7 digits
};

/// Figures of one run of mlp.py; element t - 1 belongs to step t.
struct Figures {
  std::vector<double> loss;
  std::vector<double> norm;  ///< of the gradients, before clipping; empty for SGD
  std::map<std::string, TensorFigures> tensors;
};

/// Reads mlp_sgd.txt or mlp_adamw.txt; throws std::runtime_error for a file that is not one of them.
inline Figures read_figures(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  Figures figures;
  std::string line, key, name;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    words >> key;
    if (key == "loss" || key == "norm") {
      auto& list = key == "loss" ? figures.loss : figures.norm;
      std::size_t step = 0;
      double value = 0;
      words >> step >> value;
      if (step != list.size() + 1) throw std::runtime_error(path + ": a step is missing: " + line);
      list.push_back(value);
    } else if (key == "sum") {
      words >> name;
      words >> figures.tensors[name].sum;
    } else if (key == "abs") {
      words >> name;
      words >> figures.tensors[name].magnitudes;
    } else if (key == "samples") {
      std::size_t count = 0;
      words >> name;
      TensorFigures& tensor = figures.tensors[name];
      words >> tensor.stride >> count;
      tensor.samples.resize(count);
      for (double& sample : tensor.samples) in >> sample;
      in >> std::ws;
      if (!in && !in.eof()) throw std::runtime_error(path + ": samples are missing: " + line);
    } else {
      throw std::runtime_error(path + ": unknown line: " + line);
    }
    if (!words) throw std::runtime_error(path + ": broken line: " + line);
  }
  return figures;
}

}  // namespace oracle
