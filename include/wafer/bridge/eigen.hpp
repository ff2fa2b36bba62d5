// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/bridge/dense.hpp>

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

/// Eigen's matrices, arrays, maps and vectors as feeds, results and variables of sessions. A matrix has
/// rank 2; what Eigen knows as a vector when compiling, row or column, has rank 1. No object of Eigen's
/// crosses into the library, so host and library may be compiled with different flags.
namespace wafer::inline v0 {

/// A matrix in wafer's order of elements; Eigen's own default is column-major.
template <class T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A column of any length.
template <class T>
using ColumnVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

namespace bridge {

/// [elements] of a vector, [rows, columns] of anything else.
template <class Derived>
Shape shape_of(const Eigen::DenseBase<Derived>& values) {
  if constexpr (Derived::IsVectorAtCompileTime) {
    return {static_cast<Index>(values.size())};
  } else {
    return {static_cast<Index>(values.rows()), static_cast<Index>(values.cols())};
  }
}

/// [rows, columns] of a matrix that shows `shape`: a scalar is 1 x 1, a vector is a row. Throws RunError for
/// a higher rank.
inline Shape matrix_shape(std::string_view kind, std::string_view name, const Shape& shape) {
  if (shape.rank() > 2) fail(kind, name, "rank 0, 1 or 2 for a matrix", shape.text());
  return shape.rank() == 2 ? shape : Shape{1, shape.size()};
}

/// Elements of a vector that shows `shape`, of rank 0 or 1. Throws RunError for a higher rank.
inline Index vector_size(std::string_view kind, std::string_view name, const Shape& shape) {
  if (shape.rank() > 1) fail(kind, name, "rank 0 or 1 for a vector", shape.text());
  return shape.size();
}

template <class T>
Eigen::Map<const RowMajorMatrix<T>> map_matrix(const T* data, const Shape& shape) {
  return {data, static_cast<Eigen::Index>(shape[0]), static_cast<Eigen::Index>(shape[1])};
}

template <class T>
Eigen::Map<const ColumnVector<T>> map_vector(const T* data, Index size) {
  return {data, static_cast<Eigen::Index>(size)};
}

}  // namespace bridge

/// Feeds an input, by name or handle, with a row-major matrix or a vector of float or std::int32_t, with its
/// shape: `session.step("train", {feed("image", images), feed("label", labels)})`. Nothing is copied: the
/// values are read by the step and must live as long, which a temporary within the call of `step` does.
/// Column-major matrices and expressions without memory do not compile; throws RunError for gaps between
/// elements or rows that only show at run time, such as those of `leftCols(2)`.
template <class To, class Derived>
Feed feed(const To& to, const Eigen::DenseBase<Derived>& values) {
  using Scalar = typename Derived::Scalar;
  constexpr bool has_memory = (Derived::Flags & Eigen::DirectAccessBit) != 0;
  constexpr bool is_row_major = Derived::IsVectorAtCompileTime || Derived::IsRowMajor;
  constexpr int inner_stride = Derived::InnerStrideAtCompileTime;
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, std::int32_t>,
                "wafer::feed takes float or std::int32_t: cast the matrix into a wafer::RowMajorMatrix");
  static_assert(has_memory,
                "wafer::feed takes no expression without memory: assign it to a wafer::RowMajorMatrix");
  static_assert(!has_memory || is_row_major,
                "wafer::feed takes no column-major matrix, which would be fed transposed: assign it to a "
                "wafer::RowMajorMatrix");
  static_assert(
      !has_memory || inner_stride == 1 || inner_stride == Eigen::Dynamic,
      "wafer::feed takes no matrix with gaps between elements: assign it to a wafer::RowMajorMatrix");
  const Derived& dense = values.derived();
  const std::span<const Scalar> elements(dense.data(), static_cast<std::size_t>(dense.size()));
  std::array<Index, 2> strides{dense.outerStride(), dense.innerStride()};
  if constexpr (Derived::IsVectorAtCompileTime) strides[0] = strides[1];
  return bridge::dense(Feed(to, elements, bridge::shape_of(values)), strides);
}

/// A result of rank 2 as a matrix, one of rank 1 as a row, a scalar as 1 x 1: a view of planned memory, valid
/// until the session's next step. T: float, double, std::int32_t, bool. Throws RunError for a higher rank, or
/// another type.
template <class T = float>
Eigen::Map<const RowMajorMatrix<T>> as_matrix(const FetchedTensor& result) {
  const Shape shape = bridge::matrix_shape("result", result.name(), result.shape());
  return bridge::map_matrix(result.values<T>().data(), shape);
}

/// The same for a result of rank 1, or a scalar, as a column.
template <class T = float>
Eigen::Map<const ColumnVector<T>> as_vector(const FetchedTensor& result) {
  const Index size = bridge::vector_size("result", result.name(), result.shape());
  return bridge::map_vector(result.values<T>().data(), size);
}

/// A copy of a variable of rank 2 as a matrix, of rank 1 as a row, of a scalar as 1 x 1. Throws RunError for
/// an unknown path, and for a higher rank.
inline RowMajorMatrix<float> get_matrix(const Session& session, std::string_view path) {
  const Shape shape = bridge::matrix_shape("parameter", path, session.shape(path));
  return bridge::map_matrix(session.get(path).data(), shape);
}

/// The same for a variable of rank 1, or a scalar, as a column.
inline ColumnVector<float> get_vector(const Session& session, std::string_view path) {
  const Index size = bridge::vector_size("parameter", path, session.shape(path));
  return bridge::map_vector(session.get(path).data(), size);
}

/// Replaces a variable by any expression of Eigen's of float, whatever its order in memory. Throws
/// RunError for an unknown path, and unless the shape is the variable's; one of rank 0 or 1 may come as one
/// row, as `get_matrix` gives it.
template <class Derived>
void set_variable(Session& session, std::string_view path, const Eigen::DenseBase<Derived>& values) {
  static_assert(std::is_same_v<typename Derived::Scalar, float>,
                "wafer::set_variable takes float: matrix.cast<float>()");
  const Shape shape = session.shape(path), got = bridge::shape_of(values);
  const bool is_row = shape.rank() < 2 && (got == Shape{shape.size()} || got == Shape{1, shape.size()});
  if (got != shape && !is_row) bridge::fail("parameter", path, shape.text(), got.text());
  const RowMajorMatrix<float> dense = values.derived().matrix();
  session.set(path, {dense.data(), static_cast<std::size_t>(dense.size())});
}

}  // namespace wafer::inline v0
