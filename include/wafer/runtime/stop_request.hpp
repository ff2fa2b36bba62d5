// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

namespace wafer::inline v0 {

/// What may ask a step to stop, seen during the call only: a std::stop_token, or anything else whose
/// `stop_requested()` says so and may be called by several threads at once. (The header of std::stop_token
/// alone would cost each source that includes this one a fifth of its time to compile.)
class StopRequest {
 public:
  StopRequest() = default;
  template <class Token>
  requires requires(const Token& token) {
    { token.stop_requested() } -> std::same_as<bool>;
  }
  StopRequest(const Token& token)
      : token_(&token),
        asked_([](const void* seen) { return static_cast<const Token*>(seen)->stop_requested(); }) {}
  bool stop_requested() const { return asked_ && asked_(token_); }

 private:
  const void* token_ = nullptr;
  bool (*asked_)(const void*) = nullptr;
};

}  // namespace wafer::inline v0
