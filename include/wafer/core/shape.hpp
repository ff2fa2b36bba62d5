// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// Greatest rank of a tensor. Shapes live inline, so that a tensor's type never allocates.
inline constexpr int kMaxRank = 8;

/// Extents of a tensor, outermost first. Rank 0 is a scalar; an extent may be 0.
class Shape {
 public:
  Shape() = default;
  /// Throws UserError for a rank above kMaxRank, a negative extent, or more than 2^63 - 1 elements.
  Shape(std::initializer_list<Index> extents)
      : Shape(std::span<const Index>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const Index> extents);

  int rank() const { return rank_; }
  Index operator[](int dim) const { return extents_[static_cast<std::size_t>(dim)]; }
  /// Number of elements; 1 for a scalar.
  Index size() const;
  std::span<const Index> extents() const& { return {extents_.data(), static_cast<std::size_t>(rank_)}; }
  std::span<const Index> extents() const&& = delete;
  const Index* begin() const { return extents_.data(); }
  const Index* end() const { return extents_.data() + rank_; }
  /// The same shape with another extent in one dimension.
  Shape with(int dim, Index extent) const;
  /// "[128, 784]"; "[]" for a scalar.
  std::string text() const;
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int d = 0; d < a.rank_; ++d) {
      if (a[d] != b[d]) return false;
    }
    return true;
  }

 private:
  std::array<Index, kMaxRank> extents_{};
  std::int32_t rank_ = 0;
};

/// Element type and extents of one operand.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
/// The types of all inputs, or of all results, of an op.
using Types = std::vector<TensorType>;

/// "f32[128, 784]"
std::string text_of(const TensorType& type);
/// "f32[128, 784], f32[784]"
std::string text_of(const Types& types);

/// Shape of `a` and `b` under NumPy's broadcasting; throws UserError naming both where they do not fit.
Shape broadcast(const Shape& a, const Shape& b);
/// Bytes of a dense tensor; throws UserError where the number does not fit into 63 bits.
Index bytes_of(const TensorType& type);
/// a * b and a + b for sizes; throw UserError where the result does not fit into 63 bits.
Index checked_mul(Index a, Index b);
Index checked_add(Index a, Index b);
/// Smallest multiple of `unit` (> 0) that is at least `value`; throws UserError on overflow.
Index round_up(Index value, Index unit);

}  // namespace wafer::inline v0
