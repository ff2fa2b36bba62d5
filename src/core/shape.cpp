// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>

#include <algorithm>

namespace wafer::inline v0 {

Shape::Shape(std::span<const Index> extents) {
  if (extents.size() > static_cast<std::size_t>(kMaxRank)) {
    throw UserError("shape: expected at most " + std::to_string(kMaxRank) + " dimensions, got " +
                    std::to_string(extents.size()));
  }
  rank_ = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), extents_.begin());
  for (Index extent : extents) {
    if (extent < 0) throw UserError("shape: expected extents >= 0, got " + text());
  }
  Index product = 1;  // zeros are left out, so that no stride can overflow either
  for (Index extent : extents) product = checked_mul(product, std::max<Index>(extent, 1));
}

Index Shape::size() const {
  Index product = 1;
  for (Index extent : *this) product *= extent;
  return product;
}

Shape Shape::with(int dim, Index extent) const {
  std::array<Index, kMaxRank> extents = extents_;
  extents[static_cast<std::size_t>(dim)] = extent;
  return Shape(std::span<const Index>(extents.data(), static_cast<std::size_t>(rank_)));
}

std::string Shape::text() const {
  std::string out = "[";
  for (int d = 0; d < rank_; ++d) out += (d ? ", " : "") + std::to_string((*this)[d]);
  return out + "]";
}

std::string text_of(const TensorType& type) { return std::string(name_of(type.dtype)) + type.shape.text(); }

std::string text_of(const Types& types) {
  std::string out;
  for (const TensorType& type : types) out += (out.empty() ? "" : ", ") + text_of(type);
  return out.empty() ? "nothing" : out;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<Index, kMaxRank> extents{};
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - a.rank()), db = d - (rank - b.rank());
    const Index ea = da < 0 ? 1 : a[da], eb = db < 0 ? 1 : b[db];
    if (ea != eb && ea != 1 && eb != 1) {
      throw UserError("expected shapes that broadcast, got " + a.text() + " and " + b.text() +
                      " (dimension " + std::to_string(d - rank) + ": " + std::to_string(ea) + " and " +
                      std::to_string(eb) + ")");
    }
    extents[static_cast<std::size_t>(d)] = ea == 1 ? eb : ea;
  }
  return Shape(std::span<const Index>(extents.data(), static_cast<std::size_t>(rank)));
}

Index bytes_of(const TensorType& type) { return checked_mul(type.shape.size(), size_of(type.dtype)); }

Index checked_mul(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw UserError("size: " + std::to_string(a) + " * " + std::to_string(b) + " does not fit into 63 bits");
  }
  return product;
}

Index checked_add(Index a, Index b) {
  Index sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw UserError("size: " + std::to_string(a) + " + " + std::to_string(b) + " does not fit into 63 bits");
  }
  return sum;
}

Index round_up(Index value, Index unit) { return checked_add(value, unit - 1) / unit * unit; }

}  // namespace wafer::inline v0
