// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace wafer::inline v0 {

/// Base of everything that wafer throws. The message names the op, its layer path, what was expected and
/// what came.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  ~Error() override;
};

/// The caller's mistake while describing a model: shapes, names, types, files.
class UserError : public Error {
 public:
  using Error::Error;
  ~UserError() override;
};

/// The description is well formed, but cannot be planned as asked: a hint, a limit, a fabric too small.
class CompileError : public Error {
 public:
  using Error::Error;
  ~CompileError() override;
};

/// Something went wrong while running: feeds, labels out of range, a cancelled step.
class RunError : public Error {
 public:
  using Error::Error;
  ~RunError() override;
};

/// A fault of wafer itself; the message carries file and line.
class InternalError : public Error {
 public:
  // (std::source_location is missing from Clang 14 with this standard library.)
  explicit InternalError(const std::string& message, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE());
  ~InternalError() override;
};

}  // namespace wafer::inline v0
