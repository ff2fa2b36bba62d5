// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/shape.hpp>
#include <wafer/core/tile.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wafer::inline v0::testing {

/// A dense tensor with memory of its own: what tests feed and what they get.
class Array {
 public:
  Array() : Array(TensorType{}) {}
  /// Zeros.
  explicit Array(const TensorType& type);
  /// Throws UserError where the number of values is not the shape's.
  Array(const Shape& shape, std::span<const float> values);
  Array(const Shape& shape, std::span<const std::int32_t> values);
  Array(const Shape& shape, std::initializer_list<float> values)
      : Array(shape, std::span(values.begin(), values.size())) {}
  /// Scalars.
  explicit Array(double value);
  explicit Array(float value) : Array(Shape{}, {value}) {}
  static Array labels(const Shape& shape, std::initializer_list<std::int32_t> values) {
    return Array(shape, std::span(values.begin(), values.size()));
  }
  static Array booleans(const Shape& shape, std::initializer_list<bool> values);
  /// Uniform values in [low, high), element i of stream `stream`.
  static Array uniform(const Shape& shape, std::uint64_t stream, double low = -1, double high = 1);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  /// The elements in row-major order. Throws UserError where T is not their type.
  template <class T>
  std::span<T> values() & {
    expect(dtype_of<T>);
    return {reinterpret_cast<T*>(lines_.data()), static_cast<std::size_t>(type_.shape.size())};
  }
  template <class T>
  std::span<const T> values() const& {
    expect(dtype_of<T>);
    return {reinterpret_cast<const T*>(lines_.data()), static_cast<std::size_t>(type_.shape.size())};
  }
  template <class T>
  std::vector<T> values() && {
    const std::span<T> all = values<T>();
    return {all.begin(), all.end()};
  }
  std::span<std::byte> bytes() & { return {reinterpret_cast<std::byte*>(lines_.data()), size()}; }
  std::span<const std::byte> bytes() const& {
    return {reinterpret_cast<const std::byte*>(lines_.data()), size()};
  }
  std::span<const std::byte> bytes() const&& = delete;
  /// The whole as a tile. (A kernel does not write its inputs.)
  Tile tile() const;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  void expect(DType dtype) const;
  std::size_t size() const { return static_cast<std::size_t>(bytes_of(type_)); }

  TensorType type_;
  std::vector<Line> lines_;
};

/// Whether type and every bit are the same.
bool same_bits(const Array& a, const Array& b);

}  // namespace wafer::inline v0::testing
