// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/io/safetensors.hpp>

#include "temp_folder.hpp"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace wafer_test {

/// A file with the true length of `header` in front.
inline std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + data;
}

inline std::string data_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

template <class T>
std::vector<T> values_of(const wafer::io::Entry& entry) {
  std::vector<T> values(entry.data.size() / sizeof(T));
  std::memcpy(values.data(), entry.data.data(), entry.data.size());
  return values;
}

inline const std::vector<float> kPair{1.5f, -2.0f};

inline wafer::io::Entry pair_entry(const std::string& name = "w") {
  return {name, wafer::DType::f32, {2}, std::as_bytes(std::span(kPair))};
}

inline void write_pair(const std::string& path) {
  wafer::io::write_safetensors(path, std::vector{pair_entry()});
}

inline bool holds_pair(const std::string& path) {
  const wafer::io::SafetensorsFile file(path);
  const wafer::io::Entry* entry = file.find("w");
  return entry != nullptr && values_of<float>(*entry) == kPair;
}

}  // namespace wafer_test
