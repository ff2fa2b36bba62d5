// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/compiler/floorplan.hpp>

#include <algorithm>
#include <limits>
#include <vector>

/// Shapes of the kernels of the ISPD 2020 contest. Formulas of height, width, time and memory are the
/// contest's.
namespace wafer_bench {

using wafer::Index;

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

}  // namespace wafer_bench
