// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/data/idx.hpp>
#include <wafer/error.hpp>

#include "catch.hpp"
#include "temp_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer_test::message_of;
using wafer_test::TempFolder;

namespace {

std::string bytes(const std::vector<int>& values) {
  std::string result;
  for (const int value : values) result.push_back(static_cast<char>(value));
  return result;
}

// Two images of 2 x 1 pixels, and their labels.
const std::string kImages = bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 51, 102, 255});
const std::string kLabels = bytes({0, 0, 8, 1, 0, 0, 0, 2, 9, 255});
// kImages as `gzip -9` writes it.
const std::string kZipped = bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x63, 0x60,
                                   0xe0, 0x60, 0x66, 0x60, 0x60, 0x60, 0x82, 0x62, 0x46, 0x06, 0xe3, 0xb4,
                                   0xff, 0x00, 0x1d, 0xa2, 0x5c, 0x00, 0x14, 0x00, 0x00, 0x00});

void check_refused(const std::string& content, const std::string& reason) {
  const TempFolder folder;
  const std::string path = folder.write("bad", content);
  const std::string message = message_of<UserError>([&] { data::read_idx(path); });
  CHECK_THAT(message, ContainsSubstring(path));
  CHECK_THAT(message, ContainsSubstring(reason));
}

}  // namespace

TEST_CASE("an IDX file is read plain and compressed") {
  const TempFolder folder;
  for (const std::string& content : {kImages, kZipped}) {
    const data::Idx idx = data::read_idx(folder.write("images", content));
    CHECK(idx.shape == std::vector<Index>{2, 2, 1});
    CHECK(idx.values == std::vector<std::uint8_t>{0, 51, 102, 255});
  }
}

TEST_CASE("images become fractions of 255 and labels i32") {
  const TempFolder folder;
  const data::Dataset set = data::idx(folder.write("images", kZipped), folder.write("labels", kLabels));
  CHECK(set.rows == 2);
  CHECK(set.features == 2);
  CHECK(set.images == std::vector<float>{0.0f, 0.2f, 0.4f, 1.0f});
  CHECK(set.labels == std::vector<std::int32_t>{9, 255});
}

TEST_CASE("an empty IDX file is an empty set") {
  const TempFolder folder;
  const auto images = folder.write("images", bytes({0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28}));
  const auto labels = folder.write("labels", bytes({0, 0, 8, 1, 0, 0, 0, 0}));
  const data::Dataset set = data::idx(images, labels);
  CHECK(set.rows == 0);
  CHECK(set.features == 784);
  CHECK(set.images.empty());
}

TEST_CASE("a wrong IDX header is refused by name") {
  check_refused("", "expected a header of 4 bytes, got 0");
  check_refused(bytes({0, 1, 8, 1, 0, 0, 0, 0}), "expected the first two bytes 0 0, got 0 1");
  check_refused(bytes({0, 0, 13, 1, 0, 0, 0, 0}), "expected element type 8 (unsigned byte), got 13");
  check_refused(bytes({0, 0, 8, 0}), "expected a rank from 1 to 4, got 0");
  check_refused(bytes({0, 0, 8, 5, 0, 0, 0, 1}), "expected a rank from 1 to 4, got 5");
  check_refused(bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0}), "expected 3 extents, got 1");
}

TEST_CASE("a truncated IDX file is refused at every length") {
  const TempFolder folder;
  for (const std::string& content : {kImages, kZipped})
    for (std::size_t length = 0; length < content.size(); ++length) {
      const auto path = folder.write("cut", content.substr(0, length));
      CHECK_THROWS_AS(data::read_idx(path), UserError);
    }
}

TEST_CASE("an IDX file with other bytes than it declares is refused") {
  check_refused(kImages + "x", "expected 4 bytes after the header, got more");
  check_refused(kImages.substr(0, 18), "expected 4 bytes after the header, got 2");
}

TEST_CASE("absurd IDX sizes are refused without the memory they ask for") {
  // 2^32 - 1 once: more than this machine should give to a file of ten bytes; four times: beyond 63 bits.
  check_refused(bytes({0, 0, 8, 1, 255, 255, 255, 255, 1, 2}),
                "expected 4294967295 bytes after the header, got 2");
  check_refused(bytes({0, 0, 8, 2, 127, 255, 255, 255, 255, 255, 255, 255}),
                "expected 9223372030412324865 bytes after the header, got 0");
  check_refused(
      bytes({0, 0, 8, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}),
      "the product of its extents exceeds 2^63 - 1");
}

TEST_CASE("damaged gzip data is refused") {
  std::string damaged = kZipped;
  damaged[27] = static_cast<char>(damaged[27] ^ 1);  // in the checksum
  check_refused(damaged, "damaged gzip data");
}

TEST_CASE("what is no IDX file says so") {
  check_refused("# A text", "': no IDX file: expected the first two");
}

TEST_CASE("a file that is missing or a folder is refused") {
  const TempFolder folder;
  CHECK_THAT(message_of<UserError>([&] { data::read_idx(folder.path("none")); }),
             ContainsSubstring("cannot open: No such file or directory"));
  CHECK_THAT(message_of<UserError>([&] { data::read_idx(folder.path()); }),
             ContainsSubstring("Is a directory"));
}

TEST_CASE("images and labels must fit together") {
  const TempFolder folder;
  const auto images = folder.write("images", kImages), labels = folder.write("labels", kLabels);
  const auto three = folder.write("three", bytes({0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3}));
  CHECK_THAT(
      message_of<UserError>([&] { data::idx(images, three); }),
      ContainsSubstring("expected 2 labels") && ContainsSubstring("got 3") && ContainsSubstring(three));
  CHECK_THAT(message_of<UserError>([&] { data::idx(labels, labels); }),
             ContainsSubstring("expected images of rank 2 to 4, got rank 1"));
  CHECK_THAT(message_of<UserError>([&] { data::idx(images, images); }),
             ContainsSubstring("expected labels of rank 1, got rank 3"));
  CHECK_THAT(message_of<UserError>([&] { data::fashion_mnist(folder.path(), "valid"); }),
             ContainsSubstring("expected split 'train' or 'test', got 'valid'"));
}

TEST_CASE("Fashion-MNIST of the Debian package is what its makers describe") {
  const std::string folder = WAFER_FASHION_MNIST;
  if (!std::filesystem::exists(folder)) WAFER_NOT_RUN("no " + folder);
  const data::Dataset set = data::fashion_mnist(folder, "test");
  CHECK(set.rows == 10'000);
  CHECK(set.features == 784);
  for (std::int32_t c = 0; c < 10; ++c) CHECK(std::ranges::count(set.labels, c) == 1000);
  // The first test image is an ankle boot.
  CHECK(set.labels[0] == 9);
  CHECK(*std::ranges::max_element(set.images) == 1.0f);
  CHECK(*std::ranges::min_element(set.images) == 0.0f);
}
