// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/io/safetensors.hpp>

#include "catch.hpp"
#include "safetensors_fixture.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Runs `action` in a child process and returns how that ended, as waitpid gives it.
template <class F>
int status_of_child(const F& action) {
  const pid_t child = fork();
  if (child == 0) _exit([&]() noexcept { return action(); }());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("tensors and metadata come back as they were written") {
  const TempFolder folder;
  const std::vector<float> weight{1, 2, 3, 4, 5, 6};
  const std::vector<double> rate{0.1};
  const std::vector<std::int32_t> label{-1, INT32_MAX};
  const bool flag[3] = {true, false, true};
  const std::string odd = "a \"b\"\\\n\t/\u00fc\u6f22\U0001f600" + std::string("\0z", 2);
  const std::vector<io::Entry> entries{
      {"fc1.weight", DType::f32, {2, 3}, std::as_bytes(std::span(weight))},
      {"", DType::boolean, {3}, std::as_bytes(std::span(flag))},
      {odd, DType::f64, {}, std::as_bytes(std::span(rate))},
      {"empty", DType::f32, {4, 0}, {}},
      {"label", DType::i32, {2, 1}, std::as_bytes(std::span(label))},
  };
  const io::Metadata metadata{{"format", "pt"}, {odd, odd}};
  io::write_safetensors(folder.path("all"), entries, metadata);

  const io::SafetensorsFile file(folder.path("all"));
  CHECK(file.path() == folder.path("all"));
  CHECK(file.metadata() == metadata);
  REQUIRE(file.entries().size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const io::Entry& entry = file.entries()[i];
    CHECK(entry.name == entries[i].name);
    CHECK(entry.dtype == entries[i].dtype);
    CHECK(entry.shape == entries[i].shape);
    CHECK(file.find(entry.name) == &entry);
  }
  CHECK(values_of<float>(file.entries()[0]) == weight);
  CHECK(std::memcmp(file.entries()[1].data.data(), flag, 3) == 0);
  CHECK(values_of<double>(file.entries()[2]) == rate);
  CHECK(file.entries()[3].data.empty());
  CHECK(values_of<std::int32_t>(file.entries()[4]) == label);
  CHECK(file.find("fc1") == nullptr);
  CHECK(file.find("zzz") == nullptr);
  CHECK(folder.names() == std::vector<std::string>{"all"});
}

TEST_CASE("a written file has these bytes") {
  const TempFolder folder;
  io::write_safetensors(folder.path("w"), std::vector{pair_entry()}, {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  CHECK(folder.read("w") == file_of(header + padding, data_of(kPair)));
  io::write_safetensors(folder.path("none"), {});
  CHECK(folder.read("none") == file_of("{}      "));
  const io::SafetensorsFile none(folder.path("none"));
  CHECK(none.entries().empty());
}

TEST_CASE("a header of any length loads, wherever that puts the floats") {
  const TempFolder folder;
  for (std::size_t pad = 0; pad < 16; ++pad) {
    const std::string header =
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" + std::string(pad, ' ');
    CHECK(holds_pair(folder.write("odd", file_of(header, data_of(kPair)))));
  }
  // A bool in front puts the float at an odd byte of the data itself.
  const std::string header = R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
                             R"("w":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  CHECK(holds_pair(folder.write("odd", file_of(header, "\1" + data_of(kPair)))));
}

TEST_CASE("keys may come in any order") {
  const TempFolder folder;
  const std::string header = R"({ "b" : {"data_offsets":[4,8], "shape":[1], "dtype":"F32"},
                                  "a" : {"shape":[1], "dtype":"F32", "data_offsets":[0,4]}, "__metadata__":{} })";
  const io::SafetensorsFile file(folder.write("f", file_of(header, data_of(kPair))));
  REQUIRE(file.entries().size() == 2);
  CHECK(file.entries()[0].name == "a");
  CHECK(values_of<float>(*file.find("b")) == std::vector<float>{-2.0f});
}

TEST_CASE("a moved file keeps its tensors") {
  const TempFolder folder;
  write_pair(folder.path("w"));
  io::SafetensorsFile file(folder.path("w"));
  const io::Entry* entry = file.find("w");
  const io::SafetensorsFile moved = std::move(file);
  CHECK(moved.find("w") == entry);
  CHECK(values_of<float>(*entry) == kPair);
}

TEST_CASE("wrong entries are refused before anything is written") {
  const TempFolder folder;
  const auto message = [&](const std::vector<io::Entry>& entries, const io::Metadata& metadata = {}) {
    return message_of<UserError>([&] { io::write_safetensors(folder.path("w"), entries, metadata); });
  };
  CHECK_THAT(message({pair_entry(), pair_entry()}), ContainsSubstring("tensor 'w': the name comes twice"));
  CHECK_THAT(message({pair_entry("__metadata__")}), ContainsSubstring("reserved"));
  CHECK_THAT(message({pair_entry("\xff")}), ContainsSubstring("not UTF-8"));
  io::Entry entry = pair_entry();
  entry.shape = {3};
  CHECK_THAT(message({entry}), ContainsSubstring("tensor 'w': expected 12 bytes for F32[3], got 8"));
  entry.shape = {-1, -2};
  CHECK_THAT(message({entry}), ContainsSubstring("tensor 'w': shape F32[-1, -2] is negative"));
  CHECK_THAT(message({}, {{"k", "1"}, {"k", "2"}}), ContainsSubstring("metadata key 'k' comes twice"));
  CHECK_THAT(message({}, {{"k", "\xff"}}), ContainsSubstring("not UTF-8"));
  CHECK(folder.names().empty());
}

TEST_CASE("a target that cannot be replaced leaves nothing behind") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("folder"));
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  const auto message = [&](const std::string& name) {
    return message_of<UserError>([&] { write_pair(folder.path(name)); });
  };
  CHECK_THAT(message("folder"),
             ContainsSubstring(folder.path("folder") + "': cannot replace it: Is a directory"));
  CHECK_THAT(message("pipe"), ContainsSubstring("not a regular file"));
  CHECK_THAT(message("none/w"), ContainsSubstring("No such file or directory"));
  CHECK_THAT(message("pipe/w"), ContainsSubstring("Not a directory"));
  CHECK_THAT(message(std::string(300, 'n')), ContainsSubstring("File name too long"));
  CHECK(folder.names().size() == 2);
  CHECK(std::filesystem::is_empty(folder.path("folder")));
}

TEST_CASE("a folder without permission to write keeps the old file") {
  if (geteuid() == 0) {
    // Nothing is forbidden to root but /proc, where nobody makes files.
    CHECK_THAT(message_of<UserError>([] { write_pair("/proc/self/w"); }),
               ContainsSubstring("file '/proc/self/w': cannot make a temporary file in its folder"));
    return;
  }
  const TempFolder folder;
  write_pair(folder.path("w"));
  REQUIRE(chmod(folder.path().c_str(), 0500) == 0);
  CHECK_THAT(message_of<UserError>([&] { write_pair(folder.path("w")); }),
             ContainsSubstring("Permission denied"));
  CHECK(holds_pair(folder.path("w")));
  REQUIRE(chmod(folder.path().c_str(), 0700) == 0);
}

TEST_CASE("a link stays, its target is replaced, and permissions are kept") {
  const TempFolder folder;
  folder.write("target", "old");
  REQUIRE(chmod(folder.path("target").c_str(), 0600) == 0);
  std::filesystem::create_symlink("target", folder.path("link"));
  write_pair(folder.path("link"));
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(holds_pair(folder.path("target")));
  CHECK(std::filesystem::status(folder.path("target")).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(folder.names().size() == 2);
}

TEST_CASE("a disk that fills up keeps the old file and no temporary") {
  const TempFolder folder;
  write_pair(folder.path("w"));
  const int status = status_of_child([&] {
    // A limit on the size of files fails a write half way, as a full disk does.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const std::vector<float> large(1000);
    const std::vector<io::Entry> entries{{"w", DType::f32, {1000}, std::as_bytes(std::span(large))}};
    const auto message = message_of<UserError>([&] { io::write_safetensors(folder.path("w"), entries); });
    return message.find("cannot write: File too large") != message.npos ? 0 : 1;
  });
  CHECK(status == 0);
  CHECK(holds_pair(folder.path("w")));
  CHECK(folder.names() == std::vector<std::string>{"w"});
}

TEST_CASE("a process killed while it saves leaves the old file or the new one") {
  const TempFolder folder;
  write_pair(folder.path("w"));
  std::vector<float> large(200'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i);
  const std::vector<io::Entry> entries{{"large", DType::f32, {200'000}, std::as_bytes(std::span(large))}};
  for (int kill_after = 0; kill_after < 50; ++kill_after) {
    const pid_t child = fork();
    if (child == 0)
      [&]() noexcept {
        for (;;) {
          io::write_safetensors(folder.path("w"), entries);
          write_pair(folder.path("w"));
        }
      }();
    usleep(static_cast<useconds_t>(kill_after) * 200);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const io::SafetensorsFile file(folder.path("w"));
    REQUIRE(file.entries().size() == 1);
    const io::Entry& entry = file.entries()[0];
    CHECK(values_of<float>(entry) == (entry.name == "w" ? kPair : large));
  }
  // What the killed processes left does not hinder the next save.
  write_pair(folder.path("w"));
  CHECK(holds_pair(folder.path("w")));
}
