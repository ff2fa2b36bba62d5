// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <wafer/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace wafer::inline v0 {
namespace io {
namespace {

namespace fs = std::filesystem;

/// Links that Linux follows in one path.
constexpr int kMostLinks = 40;
/// Linux moves no more than this in one call.
constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& what, int code) {
  throw UserError("file '" + path + "': cannot " + what + ": " + std::system_category().message(code));
}

/// The system would take the name up to its first NUL for another file.
void check_name(const std::string& path) {
  if (path.find('\0') != path.npos)
    throw UserError("file '" + std::string(path.c_str()) +
                    "': expected a name without NUL characters, got one");
}

/// The file that `path` means once links are followed, so that a rename does not replace a link; also one
/// that leads to a file that is not there yet.
fs::path target_of(const std::string& path) {
  check_name(path);
  std::error_code error;
  fs::path target = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) fail(path, "resolve the path", error.value());
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) fail(path, "resolve the path", ELOOP);
    target = fs::weakly_canonical(target.parent_path() / fs::read_symlink(target, error), error);
    if (error) fail(path, "resolve the path", error.value());
  }
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) fail(path, "replace it", EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw UserError("file '" + path + "': cannot replace what is not a regular file");
  return target;
}

/// A new file that is removed unless it is kept.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& folder, const std::string& wanted_for) : wanted_for_(wanted_for) {
    // Numbered, since a process that was killed may have left one of the same name.
    for (int number = 0; descriptor_ < 0; ++number) {
      path_ = folder / (".wafer-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".tmp");
      descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && (errno != EEXIST || number == 9999))
        fail(wanted_for_, "make a temporary file in its folder", errno);
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!path_.empty()) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestTransfer));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(wanted_for_, "write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }

  /// Takes the place of `target`, and its permissions, once the bytes are on the disk.
  void become(const fs::path& target) {
    struct stat old {};
    if (stat(target.c_str(), &old) == 0 && fchmod(descriptor_, old.st_mode & 0777) != 0)
      fail(wanted_for_, "keep its permissions", errno);
    if (fsync(descriptor_) != 0) fail(wanted_for_, "flush it to the disk", errno);
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail(wanted_for_, "close it", errno);
    if (std::rename(path_.c_str(), target.c_str()) != 0) fail(wanted_for_, "replace it", errno);
    path_.clear();
  }

 private:
  std::string wanted_for_;
  fs::path path_;
  int descriptor_ = -1;
};

/// A folder held open, so that little can fail once the rename has happened.
class Folder {
 public:
  Folder(const fs::path& folder, const std::string& wanted_for)
      : wanted_for_(wanted_for), descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail(wanted_for_, "open its folder", errno);
  }
  ~Folder() { close(descriptor_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void flush() {
    // Some file systems do not know fsync on folders, and say so by EINVAL.
    if (fsync(descriptor_) != 0 && errno != EINVAL) fail(wanted_for_, "flush its folder to the disk", errno);
  }

 private:
  std::string wanted_for_;
  int descriptor_;
};

}  // namespace

// O_NONBLOCK, since opening a pipe would wait for a writer.
InputFile::InputFile(const std::string& path) : path_(path), descriptor_(-1) {
  check_name(path);
  descriptor_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) fail(path_, "open", errno);
  struct stat status {};
  const int code = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (code == 0 && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  close(descriptor_);
  if (code != 0) fail(path_, "examine it", code);
  if (S_ISDIR(status.st_mode)) fail(path_, "read", EISDIR);
  throw UserError("file '" + path_ + "': cannot read what is not a regular file");
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(descriptor_, bytes.data(), std::min(bytes.size(), kLargestTransfer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read", errno);
    if (got == 0)
      throw UserError("file '" + path_ + "': ends " + std::to_string(bytes.size()) + " bytes early");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  const fs::path target = target_of(path);
  Folder folder(target.parent_path(), path);
  TemporaryFile file(target.parent_path(), path);
  for (const auto& piece : pieces) file.write(piece);
  file.become(target);
  folder.flush();
}

}  // namespace io
}  // namespace wafer::inline v0
