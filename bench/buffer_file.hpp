// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/packer.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

/// Reader of memory packing instances as minimalloc and idealloc publish them: CSV with the header
/// `id,lower,upper,size`, a buffer a line with an id of its own, which lives on [lower, upper).
namespace wafer_bench {

inline std::string place(const std::string& path, int line) {
  return path + ":" + std::to_string(line) + ": ";
}

inline wafer::Index integer(std::string_view text, const std::string& where, std::string_view what) {
  wafer::Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw wafer::UserError(where + "expected a 64-bit integer for " + std::string(what) + ", got \"" +
                           std::string(text) + "\"");
  }
  return value;
}

inline std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

/// Throws wafer::UserError that names file and line.
inline std::vector<wafer::PackBuffer> read_buffers(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw wafer::UserError(path + ": cannot be read");
  std::vector<wafer::PackBuffer> buffers;
  std::unordered_set<std::string> ids;
  wafer::Index sum = 0;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = place(path, ++number);
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1) {
      if (line != "id,lower,upper,size")
        throw wafer::UserError(where + "expected the header id,lower,upper,size, got \"" + line + "\"");
      continue;
    }
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != 4) {
      throw wafer::UserError(where + "expected 4 fields, got " + std::to_string(fields.size()) + ": \"" +
                             line + "\"");
    }
    wafer::PackBuffer buffer;
    buffer.begin = integer(fields[1], where, "lower");
    buffer.end = integer(fields[2], where, "upper");
    buffer.size = integer(fields[3], where, "size");
    if (buffer.begin > buffer.end) throw wafer::UserError(where + "the lifetime runs backwards");
    if (buffer.size < 0) throw wafer::UserError(where + "the size is negative");
    if (__builtin_add_overflow(sum, buffer.size, &sum))
      throw wafer::UserError(where + "sizes up to this one add up to 2^63 or more");
    if (fields[0].empty() || !ids.emplace(fields[0]).second) {
      throw wafer::UserError(where + "expected an id that no line before has, got \"" +
                             std::string(fields[0]) + "\"");
    }
    buffers.push_back(buffer);
  }
  if (in.bad()) throw wafer::UserError(place(path, number + 1) + "cannot be read");
  if (buffers.empty()) throw wafer::UserError(place(path, number + 1) + "expected buffers, the file ends");
  return buffers;
}

/// The capacity in a name such as A.1048576.csv, where there is one.
inline std::optional<wafer::Index> capacity_in_name(std::string_view name) {
  const std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() != 3) return std::nullopt;
  wafer::Index value = 0;
  const auto [end, error] = std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), value);
  if (error != std::errc{} || end != parts[1].data() + parts[1].size()) return std::nullopt;
  return value;
}

}  // namespace wafer_bench
