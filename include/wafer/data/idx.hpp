// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/core/dtype.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wafer::inline v0 {
namespace data {

/// An array of bytes as an IDX file holds it, row-major.
struct Idx {
  std::vector<Index> shape;          ///< 1 to 4 extents, outermost first
  std::vector<std::uint8_t> values;  ///< as many as the product of the extents
};

/// Reads an IDX file (the format of the MNIST sets, http://yann.lecun.com/exdb/mnist) of unsigned bytes,
/// plain or compressed by gzip. Throws UserError, naming the file, what was expected and what came, for a
/// file that cannot be read, another element type, a rank outside 1 to 4, fewer or more bytes than the header
/// declares. Memory grows with what the file really holds, never with what its header claims.
Idx read_idx(const std::string& path);

/// Rows of features and a class for each: what a classifier learns from.
struct Dataset {
  std::vector<float> images;  ///< rows x features, row-major
  Index rows = 0;
  Index features = 0;
  std::vector<std::int32_t> labels;  ///< one per row
};

/// Images (rank 2 to 4; the extents after the first are flattened to features; byte / 255 in f32) and labels
/// (rank 1) from two IDX files. Throws UserError as read_idx does, and where the counts differ.
Dataset idx(const std::string& image_path, const std::string& label_path);

/// Where the Debian package dataset-fashion-mnist keeps its files.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// Fashion-MNIST (784 features, classes 0 to 9) from the four gzip files in `folder`: `split` is "train"
/// (60 000 rows) or "test" (10 000 rows). Throws UserError as idx does, and for another split.
Dataset fashion_mnist(const std::string& folder, std::string_view split);

}  // namespace data
}  // namespace wafer::inline v0
