// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>

namespace wafer::inline v0 {

namespace {

std::string located(const std::string& message, std::string_view path, int line) {
  const auto slash = path.rfind('/');
  return "internal error at " + std::string(path.substr(slash == path.npos ? 0 : slash + 1)) + ":" +
         std::to_string(line) + ": " + message;
}

}  // namespace

// Out of line, so that each class has one vtable and one type_info in the process (plugins catch them).
Error::~Error() = default;
UserError::~UserError() = default;
CompileError::~CompileError() = default;
RunError::~RunError() = default;
InternalError::~InternalError() = default;

InternalError::InternalError(const std::string& message, const char* file, int line)
    : Error(located(message, file, line)) {}

}  // namespace wafer::inline v0
