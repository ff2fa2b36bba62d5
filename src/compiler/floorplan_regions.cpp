// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/floorplan_search.hpp"

#include <algorithm>
#include <tuple>

namespace wafer::inline v0 {

namespace {

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

/// Rows and columns at which something begins or ends, and whether what lies between is free.
struct CoarseMesh {
  std::vector<Index> rows, columns;  // borders
  std::vector<std::vector<char>> free;

  explicit CoarseMesh(const FloorRequest& request) : rows{0, request.rows}, columns{0, request.columns} {
    for (const FloorRectangle& fault : request.faulty) {
      rows.push_back(fault.row);
      rows.push_back(fault.row + fault.height);
      columns.push_back(fault.column);
      columns.push_back(fault.column + fault.width);
    }
    for (std::vector<Index>* borders : {&rows, &columns}) {
      std::sort(borders->begin(), borders->end());
      borders->erase(std::unique(borders->begin(), borders->end()), borders->end());
    }
    free.assign(rows.size() - 1, std::vector<char>(columns.size() - 1, 1));
    for (const FloorRectangle& fault : request.faulty) block(fault);
  }

  void block(const FloorRectangle& rectangle) {
    for (std::size_t r = 0; r + 1 < rows.size(); ++r) {
      if (rows[r] < rectangle.row || rows[r] >= rectangle.row + rectangle.height) continue;
      for (std::size_t c = 0; c + 1 < columns.size(); ++c) {
        if (columns[c] >= rectangle.column && columns[c] < rectangle.column + rectangle.width) free[r][c] = 0;
      }
    }
  }

  /// The free rectangle of most cores, of equal ones the first by top, bottom and right; of height 0 where
  /// all is blocked.
  ///
  /// A column reaches from each bottom up to its next fault. Columns wait, the furthest reaching last, until
  /// one comes that reaches less far: there their rectangles end.
  FloorRectangle largest() const {
    struct Reach {
      std::size_t begin = 0, top = 0;  // column, row
    };
    struct Found {
      Index area = 0;
      std::size_t top = 0, bottom = 0, right = 0, left = 0;
    } best;
    const std::size_t width = columns.size() - 1;
    std::vector<std::size_t> tops(width, 0);
    std::vector<Reach> waiting;
    for (std::size_t bottom = 0; bottom + 1 < rows.size(); ++bottom) {
      for (std::size_t c = 0; c <= width; ++c) {
        if (c < width && !free[bottom][c]) tops[c] = bottom + 1;
        const std::size_t top = c < width ? tops[c] : bottom + 1;
        std::size_t begin = c;
        for (; !waiting.empty() && waiting.back().top < top; waiting.pop_back()) {
          const Reach& reach = waiting.back();
          begin = reach.begin;
          const Found found{(rows[bottom + 1] - rows[reach.top]) * (columns[c] - columns[begin]), reach.top,
                            bottom, c, begin};
          const auto place = [](const Found& f) { return std::tuple(f.top, f.bottom, f.right); };
          if (found.area > best.area || (found.area == best.area && place(found) < place(best))) best = found;
        }
        if (top > bottom) continue;
        if (waiting.empty() || waiting.back().top > top) waiting.push_back({begin, top});
      }
    }
    if (best.area == 0) return {};
    return {rows[best.top], columns[best.left], rows[best.bottom + 1] - rows[best.top],
            columns[best.right] - columns[best.left]};
  }
};

double spread(const FloorRequest& request, const std::vector<std::int32_t>& place) {
  double sum = 0;
  for (const FloorConnection& c : request.connections) {
    const std::int32_t distance = place[z(c.from)] - place[z(c.to)];
    sum += c.weight * static_cast<double>(distance < 0 ? -distance : distance);
  }
  return sum;
}

}  // namespace

std::vector<FloorRectangle> free_regions(const FloorRequest& request) {
  CoarseMesh mesh(request);
  std::vector<FloorRectangle> regions;
  for (FloorRectangle next = mesh.largest(); next.height > 0; next = mesh.largest()) {
    regions.push_back(next);
    mesh.block(next);
    if (regions.size() >= request.kernels.size()) break;
  }
  std::sort(regions.begin(), regions.end(), [](const FloorRectangle& a, const FloorRectangle& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  return regions;
}

std::vector<std::int32_t> floor_order(const FloorRequest& request) {
  const std::size_t n = request.kernels.size();
  std::vector<std::vector<std::int32_t>> next(n);
  std::vector<std::int32_t> before(n), order, ready;
  for (const FloorConnection& c : request.connections) {
    if (c.from == c.to) continue;
    next[z(c.from)].push_back(c.to);
    ++before[z(c.to)];
  }
  // Along the data, depth first; what lies on a cycle comes last.
  for (std::size_t k = n; k-- > 0;) {
    if (before[k] == 0) ready.push_back(static_cast<std::int32_t>(k));
  }
  while (!ready.empty()) {
    const std::int32_t kernel = ready.back();
    ready.pop_back();
    order.push_back(kernel);
    for (const std::int32_t k : next[z(kernel)]) {
      if (--before[z(k)] == 0) ready.push_back(k);
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (before[k] > 0) order.push_back(static_cast<std::int32_t>(k));
  }
  // Neighbours change places as long as this helps.
  std::vector<std::int32_t> place(n);
  for (std::size_t p = 0; p < n; ++p) place[z(order[p])] = static_cast<std::int32_t>(p);
  double best = spread(request, place);
  constexpr std::size_t kMostLooks = 20'000'000;  // at a connection, of one round
  bool better = n <= 1000 && n * request.connections.size() <= kMostLooks;
  for (int round = 0; better && round < 20; ++round) {
    better = false;
    for (std::size_t p = 0; p + 1 < n; ++p) {
      std::swap(place[z(order[p])], place[z(order[p + 1])]);
      const double now = spread(request, place);
      if (now < best) {
        best = now;
        better = true;
        std::swap(order[p], order[p + 1]);
      } else {
        std::swap(place[z(order[p])], place[z(order[p + 1])]);
      }
    }
  }
  return order;
}

}  // namespace wafer::inline v0
