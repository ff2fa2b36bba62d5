// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {

/// "one of 'train', 'eval'", for messages: the first few of them, and how many more there are.
inline std::string one_of(const std::vector<std::string_view>& names) {
  constexpr std::size_t kShown = 8;
  if (names.empty()) return "none, since there are none";
  std::string out = "one of ";
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    out += (i > 0 ? ", '" : "'") + std::string(names[i]) + "'";
  }
  return names.size() > kShown ? out + ", and " + std::to_string(names.size() - kShown) + " more" : out;
}

/// The same of records, by their member `name`.
template <class Records, class Member>
std::string one_of(const Records& records, Member name) {
  std::vector<std::string_view> names;
  for (const auto& record : records) names.push_back(record.*name);
  return one_of(names);
}

}  // namespace wafer::inline v0
