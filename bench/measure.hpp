// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// What the programs measure with.

/// Seconds of the monotonic clock.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The number that a word of the command line is; throws where it is none, or not at least `least`.
inline double number_of(const std::string& word, const std::string& what, double least) {
  std::istringstream text(word);
  double number = 0;
  if (text >> number && text.eof() && number >= least) return number;
  throw std::invalid_argument(what + ": expected a number of at least " + std::to_string(least) + ", got '" +
                              word + "'");
}
/// The same for whole numbers.
inline std::int64_t count_of(const std::string& word, const std::string& what, std::int64_t least = 1) {
  std::istringstream text(word);
  std::int64_t number = 0;
  if (text >> number && text.eof() && number >= least) return number;
  throw std::invalid_argument(what + ": expected a whole number of at least " + std::to_string(least) +
                              ", got '" + word + "'");
}

/// The middle one, the upper of two.
inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// A figure of this process in KiB: "VmRSS" is memory now, "VmHWM" its peak (proc(5)).
inline double process_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1));
  }
  throw std::runtime_error("no " + field + " in /proc/self/status");
}
inline double peak_rss_mib() { return process_kib("VmHWM") / 1024; }

/// The files below a folder whose names end so, sorted; none where there is no such folder.
inline std::vector<std::filesystem::path> files_below(const std::string& folder,
                                                      const std::string& extension) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
