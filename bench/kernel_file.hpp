// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>
#include <wafer/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reader of the instances of the ISPD 2020 contest (placement of kernels on a wafer), .kgraph. Formulas of
/// height, width, time and memory are the contest's.
namespace wafer_bench {

using wafer::Index;

struct KernelFile {
  wafer::FloorRequest request;     ///< without input and output kernels, which take no cores and no wire
  std::vector<std::string> names;  ///< of its kernels, such as "conv[3]"
};

/// A convolution: H x W outputs, C channels in, K out, a window of R x S, strides T and U.
struct Convolution {
  Index H = 0, W = 0, C = 0, K = 0, R = 1, S = 1, T = 1, U = 1;
};

/// Convolutions side by side that share the cut of H and W.
using Parts = std::vector<Convolution>;

inline Index up(Index a, Index b) { return (a + b - 1) / b; }

/// The smallest divisor for each quotient that H can be cut into.
inline std::vector<Index> cuts_of(Index extent) {
  std::vector<Index> cuts;
  for (Index cut = 1; cut <= extent; ++cut) {
    if (cut == 1 || up(extent, cut) < up(extent, cut - 1)) cuts.push_back(cut);
  }
  return cuts;
}

/// All shapes of a kernel that are worth having: none is as low, as narrow and as fast as another.
class ShapeTable {
 public:
  ShapeTable(const Parts& parts, Index rows, Index columns, Index memory_limit)
      : parts_(parts), greatest_(std::max(rows, columns)), memory_limit_(memory_limit) {
    best_.resize(static_cast<std::size_t>((greatest_ + 1) * (greatest_ / 3 + 1)));
    std::vector<Index> heights, widths;
    for (const Convolution& part : parts) {
      for (Index h : cuts_of(part.H)) heights.push_back(h);
      for (Index w : cuts_of(part.W)) widths.push_back(w);
      cuts_of_k_.push_back(cuts_of(part.K));
    }
    for (std::vector<Index>* cuts : {&heights, &widths}) {
      std::sort(cuts->begin(), cuts->end());
      cuts->erase(std::unique(cuts->begin(), cuts->end()), cuts->end());
    }
    for (const Index h : heights) {
      for (const Index w : widths) {
        for (Index c = 1; h * w * (c + 1) <= greatest_ && c <= most_channels(); ++c) add(h, w, c);
      }
    }
  }

  std::vector<wafer::KernelShape> shapes() const {
    std::vector<wafer::KernelShape> shapes;
    const Index columns = greatest_ / 3 + 1;
    std::vector<double> lower(static_cast<std::size_t>(columns),
                              kNever);  // the best so far, up to this width
    for (Index height = 0; height <= greatest_; ++height) {
      double narrower = kNever;
      for (Index column = 0; column < columns; ++column) {
        const Cell& cell = best_[static_cast<std::size_t>(height * columns + column)];
        double& here = lower[static_cast<std::size_t>(column)];
        if (cell.time < std::min(here, narrower)) {
          shapes.push_back({height, 3 * column, cell.time, cell.memory});
          here = cell.time;
        }
        here = std::min(here, narrower);
        narrower = here;
      }
    }
    return shapes;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Cell {
    double time = kNever;
    Index memory = 0;
  };

  Index most_channels() const {
    Index most = 1;
    for (const Convolution& part : parts_) most = std::max(most, part.C);
    return most;
  }

  static double time_of(const Convolution& p, Index h, Index w, Index c, Index k) {
    return static_cast<double>(up(p.H, h) * up(p.W, w)) * static_cast<double>(up(p.C, c) * up(p.K, k)) *
           static_cast<double>(p.R * p.S) / static_cast<double>(p.T * p.U);
  }

  // C/c K/k R S + (W+S-1)/w (H+R-1)/h K/k, rounded up.
  static Index memory_of(const Convolution& p, Index h, Index w, Index c, Index k) {
    const Index all = p.C * p.K * p.R * p.S * h * w + (p.W + p.S - 1) * (p.H + p.R - 1) * p.K * c;
    return up(all, c * k * h * w);
  }

  // All widths and times at one cut of H, W and C. A faster kernel is a wider one.
  void add(Index h, Index w, Index c) {
    std::vector<std::size_t> at(parts_.size(), 0);  // index into the cuts of K
    for (;;) {
      double time = 0;
      Index k_sum = 0, memory = 0;
      std::size_t slowest = 0;
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const Index channels = std::min(c, parts_[p].C), k = cuts_of_k_[p][at[p]];
        const double own = time_of(parts_[p], h, w, channels, k);
        if (own > time) slowest = p;
        time = std::max(time, own);
        memory = std::max(memory, memory_of(parts_[p], h, w, channels, k));
        k_sum += k;
      }
      if (k_sum * 3 > greatest_) return;
      if (memory <= memory_limit_) {
        Cell& cell = best_[static_cast<std::size_t>(h * w * (c + 1) * (greatest_ / 3 + 1) + k_sum)];
        if (time < cell.time) cell = {time, memory};
      } else {
        // A part that needs more cores for its memory than for its time.
        for (std::size_t p = 0; p < parts_.size(); ++p) {
          const Index channels = std::min(c, parts_[p].C);
          if (memory_of(parts_[p], h, w, channels, cuts_of_k_[p][at[p]]) > memory_limit_) slowest = p;
        }
      }
      if (++at[slowest] == cuts_of_k_[slowest].size()) return;
    }
  }

  const Parts& parts_;
  Index greatest_, memory_limit_;
  std::vector<std::vector<Index>> cuts_of_k_;
  std::vector<Cell> best_;  // by height and a third of the width
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
