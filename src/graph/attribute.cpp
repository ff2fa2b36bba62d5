// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/graph/attribute.hpp>

#include <charconv>

namespace wafer::inline v0 {

namespace {

std::string text(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}
std::string text(Index value) { return std::to_string(value); }
std::string text(bool value) { return value ? "true" : "false"; }
std::string text(const std::string& value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}
std::string text(DType value) { return std::string(name_of(value)); }
template <class T>
std::string text(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? "," : "") + text(value);
  return out + "]";
}

}  // namespace

std::string text_of(const std::vector<Attribute>& attributes) {
  std::string out;
  for (const Attribute& attribute : attributes) {
    out += (out.empty() ? "" : " ") + std::string(attribute.name) + "=" +
           std::visit([](const auto& value) { return text(value); }, attribute.value);
  }
  return out;
}

namespace detail {

namespace {

template <class T>
void add(std::vector<Attribute>& out, std::string_view name, const T& value) {
  Attribute& attribute = out.emplace_back();
  attribute.name = name;
  attribute.value = value;
}

}  // namespace

void append(std::vector<Attribute>& out, std::string_view name, double value) { add(out, name, value); }
void append(std::vector<Attribute>& out, std::string_view name, Index value) { add(out, name, value); }
void append(std::vector<Attribute>& out, std::string_view name, bool value) { add(out, name, value); }
void append(std::vector<Attribute>& out, std::string_view name, const std::string& value) {
  add(out, name, value);
}
void append(std::vector<Attribute>& out, std::string_view name, DType value) { add(out, name, value); }
void append(std::vector<Attribute>& out, std::string_view name, const std::vector<Index>& value) {
  add(out, name, value);
}
void append(std::vector<Attribute>& out, std::string_view name, const std::vector<double>& value) {
  add(out, name, value);
}

}  // namespace detail

}  // namespace wafer::inline v0
