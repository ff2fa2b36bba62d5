// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/bridge/dense.hpp>

// xtensor 0.26 moved its headers.
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

/// xtensor's arrays, adaptors and views as feeds, results and variables of sessions, of any rank. No object
/// of xtensor's crosses into the library.
namespace wafer::inline v0 {

/// An array in wafer's order of elements, whatever XTENSOR_DEFAULT_LAYOUT says.
template <class T>
using RowMajorArray = xt::xarray<T, xt::layout_type::row_major>;

namespace bridge {

template <class Extents>
Shape shape_from(const Extents& extents) {
  return Shape(std::vector<Index>(extents.begin(), extents.end()));
}

template <class T>
auto map_array(const T* data, const Shape& shape) {
  const xt::dynamic_shape<std::size_t> extents(shape.begin(), shape.end());
  // A plus makes a value of the pointer: xtensor would keep a reference to the variable.
  return xt::adapt<xt::layout_type::row_major>(+data, static_cast<std::size_t>(shape.size()),
                                               xt::no_ownership(), extents);
}

}  // namespace bridge

/// Feeds an input, by name or handle, with a row-major array, adaptor or view of float or std::int32_t, with
/// its shape: `session.step("train", {feed("image", images), feed("label", labels)})`. Nothing is copied: the
/// values are read by the step and must live as long, which a temporary within the call of `step` does.
/// Column-major arrays and lazy expressions do not compile; throws RunError for gaps or another order of
/// elements that only show at run time, and UserError above rank kMaxRank.
template <class To, class Derived>
Feed feed(const To& to, const xt::xexpression<Derived>& values) {
  using Scalar = typename Derived::value_type;
  constexpr bool has_memory =
      xt::has_data_interface<const Derived>::value && xt::has_strides<const Derived>::value;
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, std::int32_t>,
                "wafer::feed takes float or std::int32_t: xt::cast the array into a wafer::RowMajorArray");
  static_assert(has_memory,
                "wafer::feed takes no lazy expression, nor a view without strides: assign it to a "
                "wafer::RowMajorArray");
  static_assert(Derived::static_layout != xt::layout_type::column_major,
                "wafer::feed takes no column-major array, which would be fed transposed: assign it to a "
                "wafer::RowMajorArray");
  const Derived& dense = values.derived_cast();
  const std::span<const Scalar> elements(dense.data() + dense.data_offset(), dense.size());
  return bridge::dense(Feed(to, elements, bridge::shape_from(dense.shape())), dense.strides());
}

/// A result as an adaptor of xtensor's, of its rank: a read-only view of planned memory, valid until the
/// session's next step. T: float, double, std::int32_t, bool. Throws RunError for another type.
template <class T = float>
auto as_xarray(const FetchedTensor& result) {
  return bridge::map_array(result.values<T>().data(), result.shape());
}

/// A copy of a variable. Throws RunError for an unknown path.
inline RowMajorArray<float> get_xarray(const Session& session, std::string_view path) {
  return bridge::map_array(session.get(path).data(), session.shape(path));
}

/// Replaces a variable by any expression of xtensor's of float, lazy ones and any order in memory included.
/// Throws RunError for an unknown path, and unless the shape is the variable's.
template <class Derived>
void set_variable(Session& session, std::string_view path, const xt::xexpression<Derived>& values) {
  static_assert(std::is_same_v<typename Derived::value_type, float>,
                "wafer::set_variable takes float: xt::cast<float>(array)");
  const RowMajorArray<float> dense = values.derived_cast();
  const Shape shape = session.shape(path), got = bridge::shape_from(dense.shape());
  if (got != shape) bridge::fail("parameter", path, shape.text(), got.text());
  session.set(path, std::span<const float>(dense.data(), dense.size()));
}

}  // namespace wafer::inline v0
