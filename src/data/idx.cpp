// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/core/shape.hpp>
#include <wafer/data/idx.hpp>
#include <wafer/error.hpp>

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace wafer::inline v0 {
namespace data {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError("file '" + path + "': " + what);
}

/// A plain or compressed file, read forwards.
class Stream {
 public:
  explicit Stream(const std::string& path) : path_(path) {
    if (path.find('\0') != path.npos) fail(path.c_str(), "expected a name without NUL characters, got one");
    // Opening a pipe would wait for a writer.
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
      fail(path_, "expected a regular file, got something else");
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    // zlib leaves errno alone where it is memory that lacks.
    if (!file_) fail(path_, "cannot open: " + std::system_category().message(errno == 0 ? ENOMEM : errno));
  }

  /// Fills as much of `bytes` as the file still has; returns how many that is.
  std::size_t read(std::span<std::uint8_t> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto piece = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - done, 1u << 20));
      const int got = gzread(file_.get(), bytes.data() + done, piece);
      if (got > 0) done += static_cast<std::size_t>(got);
      if (got <= 0) break;
    }
    check();
    return done;
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };

  void check() {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) fail(path_, "cannot read: " + std::system_category().message(errno));
    if (code != Z_OK && code != Z_STREAM_END) fail(path_, std::string("damaged gzip data: ") + message);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::vector<Index> read_shape(Stream& stream, const std::string& path) {
  std::uint8_t magic[4];
  const std::size_t got = stream.read(magic);
  if (got < 4) fail(path, "no IDX file: expected a header of 4 bytes, got " + std::to_string(got));
  if (magic[0] != 0 || magic[1] != 0)
    fail(path, "no IDX file: expected the first two bytes 0 0, got " + std::to_string(magic[0]) + " " +
                   std::to_string(magic[1]));
  if (magic[2] != 8) fail(path, "expected element type 8 (unsigned byte), got " + std::to_string(magic[2]));
  const std::size_t rank = magic[3];
  if (rank < 1 || rank > 4) fail(path, "expected a rank from 1 to 4, got " + std::to_string(rank));
  std::vector<Index> shape;
  for (std::size_t d = 0; d < rank; ++d) {
    std::uint8_t big_endian[4];
    if (stream.read(big_endian) < 4)
      fail(path, "expected " + std::to_string(rank) + " extents, got " + std::to_string(d));
    Index extent = 0;
    for (const std::uint8_t byte : big_endian) extent = extent * 256 + byte;
    shape.push_back(extent);
  }
  return shape;
}

/// Product of extents; a product beyond 63 bits is the file's fault.
Index product(std::span<const Index> extents, const std::string& path) {
  Index result = 1;
  for (const Index extent : extents) {
    if (extent != 0 && result > INT64_MAX / extent) fail(path, "the product of its extents exceeds 2^63 - 1");
    result *= extent;
  }
  return result;
}

std::string path_of(const std::string& folder, const std::string& file) {
  return folder.empty() || folder.back() == '/' ? folder + file : folder + '/' + file;
}

}  // namespace

Idx read_idx(const std::string& path) {
  Stream stream(path);
  Idx result;
  result.shape = read_shape(stream, path);
  const auto expected = static_cast<std::size_t>(product(result.shape, path));
  // In pieces that double: a header that claims more than the file holds costs no memory.
  constexpr std::size_t kFirstPiece = std::size_t{1} << 20;
  std::size_t got = 0;
  while (got < expected) {
    const std::size_t piece = std::min(expected - got, std::max(got, kFirstPiece));
    result.values.resize(got + piece);
    const std::size_t read = stream.read(std::span(result.values).subspan(got));
    got += read;
    if (read < piece)
      fail(path,
           "expected " + std::to_string(expected) + " bytes after the header, got " + std::to_string(got));
  }
  std::uint8_t extra[1];
  if (stream.read(extra) != 0)
    fail(path, "expected " + std::to_string(expected) + " bytes after the header, got more");
  return result;
}

Dataset idx(const std::string& image_path, const std::string& label_path) {
  const Idx images = read_idx(image_path);
  if (images.shape.size() < 2) fail(image_path, "expected images of rank 2 to 4, got rank 1");
  const Idx labels = read_idx(label_path);
  if (labels.shape.size() != 1)
    fail(label_path, "expected labels of rank 1, got rank " + std::to_string(labels.shape.size()));
  if (labels.shape[0] != images.shape[0])
    fail(label_path, "expected " + std::to_string(images.shape[0]) + " labels, one for each image of '" +
                         image_path + "', got " + std::to_string(labels.shape[0]));
  Dataset set;
  set.rows = images.shape[0];
  set.features = product(std::span(images.shape).subspan(1), image_path);
  set.images.resize(images.values.size());
  std::ranges::transform(images.values, set.images.begin(),
                         [](std::uint8_t byte) { return static_cast<float>(byte) / 255.0f; });
  set.labels.assign(labels.values.begin(), labels.values.end());
  return set;
}

Dataset fashion_mnist(const std::string& folder, std::string_view split) {
  if (split != "train" && split != "test")
    throw UserError("fashion_mnist: expected split 'train' or 'test', got '" + std::string(split) + "'");
  if (std::error_code code; !std::filesystem::is_directory(folder, code)) {
    throw UserError("fashion_mnist: expected a folder, got '" + folder +
                    "', which is none; Debian's package dataset-fashion-mnist has the files, in " +
                    kFashionMnistFolder);
  }
  const std::string stem = split == "train" ? "train" : "t10k";
  return idx(path_of(folder, stem + "-images-idx3-ubyte.gz"),
             path_of(folder, stem + "-labels-idx1-ubyte.gz"));
}

}  // namespace data
}  // namespace wafer::inline v0
