// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace wafer::inline v0 {

/// What an attribute of an op may be. Attributes are data: they are compared, printed, hashed and stored.
using AttributeValue =
    std::variant<double, Index, bool, std::string, DType, std::vector<Index>, std::vector<double>>;

/// Name and value of one attribute.
struct Attribute {
  std::string_view name;
  AttributeValue value;
};

/// Name of an attribute and the member that holds it; made by `attr` in an op's `attributes()`.
template <class Op, class Value>
struct AttributeMember {
  std::string_view name;
  Value Op::*member;
};

/// One entry of an op's `attributes()` tuple: `attr("low", &Clip::low)`.
template <class Op, class Value>
constexpr AttributeMember<Op, Value> attr(std::string_view name, Value Op::*member) {
  return {name, member};
}

/// "low=0 high=1"; numbers as the shortest text that reads back to the same bytes, so equal texts are equal
/// values.
std::string text_of(const std::vector<Attribute>& attributes);

namespace detail {

struct AnyMember {
  template <class T>
  constexpr operator T() const noexcept;  // declared only: counts members in unevaluated contexts
};

template <class T, class... Members>
constexpr int member_count() {
  if constexpr (requires { T{Members{}..., AnyMember{}}; }) {
    return member_count<T, Members..., AnyMember>();
  } else {
    return static_cast<int>(sizeof...(Members));
  }
}

// One overload for each type that an attribute may have; compiled once, in the library.
void append(std::vector<Attribute>& out, std::string_view name, double value);
void append(std::vector<Attribute>& out, std::string_view name, Index value);
void append(std::vector<Attribute>& out, std::string_view name, bool value);
void append(std::vector<Attribute>& out, std::string_view name, const std::string& value);
void append(std::vector<Attribute>& out, std::string_view name, DType value);
void append(std::vector<Attribute>& out, std::string_view name, const std::vector<Index>& value);
void append(std::vector<Attribute>& out, std::string_view name, const std::vector<double>& value);

template <class T>
std::vector<Attribute> attributes_of(const T& op) {
  std::vector<Attribute> out;
  std::apply([&](const auto&... entry) { (append(out, entry.name, op.*entry.member), ...); },
             T::attributes());
  return out;
}

}  // namespace detail

}  // namespace wafer::inline v0
