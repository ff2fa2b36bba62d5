// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/error.hpp>

#include "kernel_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reader of the instances of the ISPD 2020 contest (placement of kernels on a wafer), .kgraph.
namespace wafer_bench {

struct KernelFile {
  wafer::FloorRequest request;     ///< without input and output kernels, which take no cores and no wire
  std::vector<std::string> names;  ///< of its kernels, such as "conv[3]"
};

class KernelReader {
 public:
  explicit KernelReader(const std::string& path) : path_(path) {}

  KernelFile read() {
    std::ifstream in(path_);
    if (!in) throw wafer::UserError(path_ + ": cannot be read");
    while (std::getline(in, line_)) {
      ++number_;
      read_line();
    }
    ++number_;
    if (in.bad()) fail("the file cannot be read");
    if (header_ < kHeader.size()) fail("the file ends, expected " + std::string(kHeader[header_]));
    if (file_.request.kernels.empty()) fail("the file ends, expected kernels");
    if (in_comment_) fail("the file ends in a comment");
    return std::move(file_);
  }

 private:
  static constexpr std::array<std::string_view, 6> kHeader{"width",   "height",   "wdeltat",
                                                           "wlength", "wadapter", "memlimit"};
  static constexpr Index kMostSide = 4096;  // of a mesh, as for FloorRequest

  [[noreturn]] void fail(const std::string& what) const {
    throw wafer::UserError(path_ + ":" + std::to_string(number_) + ": " + what);
  }

  static std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
    return begin == text.npos ? std::string_view{} : text.substr(begin, end - begin + 1);
  }

  Index integer(std::string_view text, std::string_view what, Index most = 1'000'000) const {
    text = trimmed(text);
    Index value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) {
      fail("expected a number of 0 to " + std::to_string(most) + " for " + std::string(what) + ", got \"" +
           std::string(text) + "\"");
    }
    return value;
  }

  void read_line() {
    const std::string_view text = trimmed(line_);
    if (text.empty() || (text.starts_with("(*") && text.ends_with("*)"))) return;
    if (text.starts_with("(*")) {
      in_comment_ = true;
    } else if (text.ends_with("*)")) {
      if (!in_comment_) fail("a comment ends that did not begin");
      in_comment_ = false;
    } else if (in_comment_) {
      read_setting(text);
    } else if (text.find("->") != text.npos) {
      read_connection(text);
    } else {
      read_kernel(text);
    }
  }

  void read_setting(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos) fail("expected name=value, got \"" + std::string(text) + "\"");
    const std::string_view name = text.substr(0, equals);
    if (name == "test") return;
    if (header_ == kHeader.size() || name != kHeader[header_]) {
      fail("expected " + std::string(header_ < kHeader.size() ? kHeader[header_] : "*)") + ", got \"" +
           std::string(name) + "\"");
    }
    const Index value = integer(text.substr(equals + 1), name, header_ < 2 ? kMostSide : 1'000'000);
    if (header_ < 2 && value == 0) fail("expected a positive " + std::string(name));
    wafer::FloorRequest& r = file_.request;
    switch (header_++) {
      case 0: r.columns = value; break;
      case 1: r.rows = value; break;
      case 2: r.time_weight = static_cast<double>(value); break;
      case 3: r.length_weight = static_cast<double>(value); break;
      case 4:
        if (value != 0) fail("adapters are not read: expected wadapter=0");
        break;
      default: r.memory_limit = value;
    }
  }

  // "conv[ 3]": kind and number.
  std::pair<std::string, Index> name_in(std::string_view text) const {
    const auto open = text.find('['), close = text.find(']');
    if (open == text.npos || close == text.npos || close < open)
      fail("expected a kernel such as conv[3], got \"" + std::string(text) + "\"");
    return {std::string(trimmed(text.substr(0, open))),
            integer(text.substr(open + 1, close - open - 1), "number")};
  }

  // The value of " key=123".
  Index value_of(std::string_view text, char key, bool required = true) const {
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      if (text[at] != key || text[at + 1] != '=' || (text[at - 1] != ' ' && text[at - 1] != '\t')) continue;
      std::string_view value = text.substr(at + 2);
      value = value.substr(0, value.find_first_of(" \t"));
      // Within these, no product of the formulas overflows.
      const bool window = std::string_view("RSTU").find(key) != std::string_view::npos;
      const Index number = integer(value, std::string(1, key), window ? 64 : 65'536);
      if (number == 0) fail("expected a positive " + std::string(1, key));
      return number;
    }
    if (required) fail("expected " + std::string(1, key) + "=...");
    return 1;
  }

  Parts parts_of(const std::string& kind, std::string_view text) const {
    if (kind == "conv") {
      const auto v = [&](char key) { return value_of(text, key); };
      return {{v('H'), v('W'), v('C'), v('K'), v('R'), v('S'), v('T'), v('U')}};
    }
    const Index H = value_of(text, 'h'), W = value_of(text, 'w'), F = value_of(text, 'f');
    if (F % 4 != 0) fail("expected an f that is a multiple of 4, got " + std::to_string(F));
    if (kind == "dblock")
      return {{H, W, F, F / 4, 1, 1, 1, 1}, {H, W, F / 4, F / 4, 3, 3, 1, 1}, {H, W, F / 4, F, 1, 1, 1, 1}};
    if (kind != "cblock") fail("expected conv, dblock, cblock, input or output, got \"" + kind + "\"");
    if (H % 2 != 0 || W % 2 != 0) fail("expected an even h and w of a cblock");
    return {{H, W, F / 2, F / 4, 1, 1, 1, 1},
            {H, W, F / 4, F / 4, 3, 3, 2, 2},
            {H / 2, W / 2, F / 4, F, 1, 1, 1, 1},
            {H, W, F / 2, F, 1, 1, 2, 2}};
  }

  void read_kernel(std::string_view text) {
    if (header_ < kHeader.size()) fail("a kernel before the header's " + std::string(kHeader[header_]));
    const auto [kind, number] = name_in(text);
    if (number != static_cast<Index>(kernels_.size()))
      fail("expected kernel number " + std::to_string(kernels_.size()) + ", got " + std::to_string(number));
    if (kind == "input" || kind == "output") {
      kernels_.push_back({kind, -1});
      return;
    }
    const wafer::FloorRequest& r = file_.request;
    const Parts parts = parts_of(kind, text);
    std::optional<std::int32_t> same;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (same_parts(parts_[k], parts)) same = static_cast<std::int32_t>(k);
    }
    kernels_.push_back({kind, static_cast<std::int32_t>(r.kernels.size())});
    file_.names.push_back(kind + "[" + std::to_string(number) + "]");
    wafer::FloorKernel kernel;
    if (same) {
      kernel = r.kernels[static_cast<std::size_t>(*same)];
    } else {
      kernel.shapes = ShapeTable(parts, r.rows, r.columns, r.memory_limit).shapes();
    }
    if (kernel.shapes.empty()) fail("the kernel fits in no shape");
    file_.request.kernels.push_back(std::move(kernel));
    parts_.push_back(parts);
  }

  static bool same_parts(const Parts& a, const Parts& b) {
    const auto numbers = [](const Convolution& p) {
      return std::array<Index, 8>{p.H, p.W, p.C, p.K, p.R, p.S, p.T, p.U};
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Convolution& x, const Convolution& y) { return numbers(x) == numbers(y); });
  }

  void read_connection(std::string_view text) {
    const auto arrow = text.find("->");
    std::array<std::int32_t, 2> ends{};
    const std::array<std::string_view, 2> sides{text.substr(0, arrow), text.substr(arrow + 2)};
    for (std::size_t side = 0; side < 2; ++side) {
      const auto [kind, number] = name_in(sides[side]);
      if (number >= static_cast<Index>(kernels_.size()) ||
          kernels_[static_cast<std::size_t>(number)].first != kind) {
        fail("a connection with " + kind + "[" + std::to_string(number) + "], which was not defined");
      }
      ends[side] = kernels_[static_cast<std::size_t>(number)].second;
    }
    if (ends[0] >= 0 && ends[1] >= 0) file_.request.connections.push_back({ends[0], ends[1], 1});
  }

  std::string path_, line_;
  int number_ = 0;
  std::size_t header_ = 0;
  bool in_comment_ = false;
  std::vector<std::pair<std::string, std::int32_t>> kernels_;  // kind, index in the request or -1
  std::vector<Parts> parts_;                                   // of the request's kernels
  KernelFile file_;
};

/// Throws wafer::UserError that names file and line.
inline KernelFile read_kernels(const std::string& path) { return KernelReader(path).read(); }

}  // namespace wafer_bench
