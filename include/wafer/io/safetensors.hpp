// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wafer::inline v0 {

/// Weights on disk in the safetensors format (https://github.com/huggingface/safetensors): 8 bytes of header
/// length (little-endian), a JSON header, then the tensors' bytes, row-major and little-endian.
namespace io {

/// One named tensor. Its bytes may be unaligned to the element: copy them out, never cast the pointer.
struct Entry {
  std::string name{};
  DType dtype = DType::f32;
  std::vector<Index> shape{};         ///< outermost first; any rank, which need not fit a wafer::Shape
  std::span<const std::byte> data{};  ///< size_of(dtype) times the product of the shape
};

/// Free text about a file: keys, each once, and values.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A safetensors file read into memory as a whole, its tensors spans into that one buffer.
class SafetensorsFile {
 public:
  /// Reads F32, F64, I32 and BOOL tensors. Throws UserError, naming the file, the tensor, what was expected
  /// and what came, for a file that cannot be read, another dtype, and everything that the format forbids: a
  /// header over 100 MB or beyond the file, wrong JSON, a key twice, a shape that does not match its bytes,
  /// tensors that overlap, leave a hole or end before the file does; also for a bool that is neither 0 nor 1.
  explicit SafetensorsFile(const std::string& path);

  /// The tensors in the order of their bytes.
  const std::vector<Entry>& entries() const& { return entries_; }
  const std::vector<Entry>& entries() const&& = delete;
  /// The tensor of that name, or null. It lives as long as the file object, wherever that is moved.
  const Entry* find(std::string_view name) const&;
  const Entry* find(std::string_view name) const&& = delete;
  const Metadata& metadata() const& { return metadata_; }
  const Metadata& metadata() const&& = delete;
  const std::string& path() const& { return path_; }
  const std::string& path() const&& = delete;

 private:
  std::string path_;
  std::unique_ptr<std::byte[]> data_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> by_name_;  // entries_ sorted by name
  Metadata metadata_;
};

/// Writes the tensors in the order given, replacing `path` whole or not at all: the bytes go to a temporary
/// file in the same folder, reach the disk, and take the place of the old file in one rename. Where anything
/// fails, the old file is as it was and the temporary is gone. Throws UserError naming the path and the
/// system's reason, or the tensor whose name comes twice, is "__metadata__" or not UTF-8, whose shape is
/// negative or does not match its bytes.
void write_safetensors(const std::string& path, std::span<const Entry> entries,
                       const Metadata& metadata = {});

}  // namespace io
}  // namespace wafer::inline v0
