// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/rng.hpp>
#include <wafer/error.hpp>
#include <wafer/testing/array.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace wafer::inline v0::testing {

namespace {

template <class T>
void fill(Array& array, std::span<const T> values) {
  const std::span<T> to = array.values<T>();
  if (to.size() != values.size()) {
    throw UserError("array: expected " + std::to_string(to.size()) + " values for " + text_of(array.type()) +
                    ", got " + std::to_string(values.size()));
  }
  std::copy(values.begin(), values.end(), to.begin());
}

}  // namespace

Array::Array(const TensorType& type) : type_(type), lines_((size() + sizeof(Line) - 1) / sizeof(Line)) {}

Array::Array(const Shape& shape, std::span<const float> values) : Array({DType::f32, shape}) {
  fill(*this, values);
}
Array::Array(const Shape& shape, std::span<const std::int32_t> values) : Array({DType::i32, shape}) {
  fill(*this, values);
}
Array::Array(double value) : Array({DType::f64, Shape{}}) { values<double>()[0] = value; }

Array Array::booleans(const Shape& shape, std::initializer_list<bool> values) {
  Array array({DType::boolean, shape});
  fill(array, std::span(values.begin(), values.size()));
  return array;
}

Array Array::uniform(const Shape& shape, std::uint64_t stream, double low, double high) {
  Array array({DType::f32, shape});
  fill_uniform(0, stream, 0, static_cast<float>(low), static_cast<float>(high), array.values<float>());
  return array;
}

Tile Array::tile() const {
  Tile tile;
  tile.data = const_cast<Line*>(lines_.data());
  tile.dtype = type_.dtype;
  tile.rank = type_.shape.rank();
  Index stride = 1;
  for (int d = tile.rank - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    tile.extent[i] = tile.shape[i] = type_.shape[d];
    tile.stride[i] = stride;
    stride *= type_.shape[d];
  }
  return tile;
}

void Array::expect(DType dtype) const {
  if (dtype == type_.dtype) return;
  throw UserError("array: expected to be read as " + std::string(name_of(type_.dtype)) + ", got " +
                  std::string(name_of(dtype)));
}

bool same_bits(const Array& a, const Array& b) {
  const auto x = a.bytes(), y = b.bytes();
  return a.type() == b.type() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

}  // namespace wafer::inline v0::testing
