// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace wafer::inline v0 {
namespace io {

/// A regular file opened for reading. Every failure is a UserError with the path and the system's reason.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Bytes of the file when it was opened.
  Index size() const { return size_; }
  /// Fills `bytes` from where the last read ended; a file that ends before is an error.
  void read(std::span<std::byte> bytes);

 private:
  std::string path_;
  int descriptor_;
  Index size_ = 0;
};

/// Replaces the file at `path`, or makes it, with the pieces one after another: whole or not at all (a
/// temporary file in the same folder, fsync, rename, fsync of the folder). A symbolic link stays and its
/// target is replaced. Every failure is a UserError with the path and the system's reason.
void replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace io
}  // namespace wafer::inline v0
