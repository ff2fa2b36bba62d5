// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/io/safetensors.hpp>

#include "catch.hpp"
#include "temp_folder.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer_test::message_of;
using wafer_test::TempFolder;

namespace {

/// A file with the true length of `header` in front.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + data;
}

std::string data_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

template <class T>
std::vector<T> values_of(const io::Entry& entry) {
  std::vector<T> values(entry.data.size() / sizeof(T));
  std::memcpy(values.data(), entry.data.data(), entry.data.size());
  return values;
}

void check_refused(const std::string& content, const std::vector<std::string>& reasons) {
  const TempFolder folder;
  const std::string path = folder.write("bad", content);
  const std::string message = message_of<UserError>([&] { io::SafetensorsFile{path}; });
  CHECK_THAT(message, ContainsSubstring(path));
  for (const auto& reason : reasons) CHECK_THAT(message, ContainsSubstring(reason));
}

const std::vector<float> kPair{1.5f, -2.0f};

io::Entry pair_entry(const std::string& name = "w") {
  return {name, DType::f32, {2}, std::as_bytes(std::span(kPair))};
}

void write_pair(const std::string& path) { io::write_safetensors(path, std::vector{pair_entry()}); }

bool holds_pair(const std::string& path) {
  const io::SafetensorsFile file(path);
  const io::Entry* entry = file.find("w");
  return entry != nullptr && values_of<float>(*entry) == kPair;
}

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

TEST_CASE("a wrong length of the header is refused") {
  check_refused("", {"expected at least 8 bytes, got 0"});
  check_refused(std::string(8, '\0'), {"begins with '{'"});
  check_refused(std::string("\3\0\0\0\0\0\0\0{}", 10), {"expected a header of at most 2 bytes, got 3"});
  check_refused(std::string(8, '\xff') + "{}",
                {"expected a header of at most 2 bytes, got 18446744073709551615"});
  const TempFolder folder;
  // A sparse file that does hold the length it claims.
  const std::string path = folder.write("large", std::string("\1\341\365\5\0\0\0\0{}", 10));
  std::filesystem::resize_file(path, 200'000'000);
  CHECK_THAT(message_of<UserError>([&] { io::SafetensorsFile{path}; }),
             ContainsSubstring("expected a header of at most 100000000 bytes, got 100000001"));
}

TEST_CASE("a header that is not the format's JSON is refused") {
  const auto tensor = [](const std::string& text) { return file_of("{\"w\":" + text + "}", data_of(kPair)); };
  check_refused(file_of(" {}"), {"begins with '{'"});
  check_refused(file_of("[]"), {"begins with '{'"});
  check_refused(file_of("{"), {"expected a JSON header"});
  check_refused(file_of("{}{}"), {"expected a JSON header"});
  check_refused(file_of(std::string("{}\0", 3)), {"expected a JSON header"});
  check_refused(file_of("{\"\xff\":{}}"), {"expected a JSON header"});
  check_refused(file_of("{\"w\":1}"), {"'w': expected an object, got a number"});
  check_refused(file_of("{\"w\":[]}"), {"'w': expected an object, got an array"});
  check_refused(file_of("{\"w\":null}"), {"'w': expected an object, got null"});
  check_refused(file_of("{\"__metadata__\":{\"k\":1}}"), {"metadata 'k': expected a string, got a number"});
  check_refused(file_of("{\"__metadata__\":{\"k\":{}}}"), {"metadata 'k': expected a string, got an object"});
  check_refused(file_of("{\"__metadata__\":[]}"), {"'__metadata__': expected an object, got an array"});
  check_refused(tensor("{}"), {"'w'", "expected dtype, shape and data_offsets, got 0 of them"});
  check_refused(tensor(R"({"dtype":"F32","shape":[2]})"), {"'w'", "got 2 of them"});
  check_refused(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), {"'w'", "got 'x'"});
  check_refused(tensor(R"({"dtype":1})"), {"'w'", "dtype: expected a string, got a number"});
  check_refused(tensor(R"({"dtype":["F32"]})"), {"'w'", "dtype: expected a string, got an array"});
  check_refused(tensor(R"({"shape":"2"})"), {"'w'", "shape: expected an array, got a string"});
  check_refused(tensor(R"({"shape":{}})"), {"'w'", "shape: expected an array, got an object"});
  check_refused(tensor(R"({"shape":[[2]]})"),
                {"'w'", "shape: expected integers from 0 to 2^63 - 1, got an array"});
  check_refused(tensor(R"({"shape":[2.0]})"), {"'w'", "expected integers from 0 to 2^63 - 1, got '2.0'"});
  check_refused(tensor(R"({"shape":[-1]})"), {"'w'", "expected integers from 0 to 2^63 - 1, got -1"});
  check_refused(tensor(R"({"shape":[9223372036854775808]})"), {"'w'", "got 9223372036854775808"});
  check_refused(tensor(R"({"shape":[99999999999999999999]})"), {"'w'", "got '99999999999999999999'"});
  check_refused(tensor(R"({"shape":[true]})"), {"'w'", "got a bool"});
  check_refused(tensor(R"({"data_offsets":[0,4,8]})"), {"'w'", "expected 2 data_offsets, got 3"});
}

TEST_CASE("a dtype without a wafer type is refused by its name") {
  for (const std::string dtype : {"F16", "BF16", "I64", "U8", "f32", ""})
    check_refused(file_of("{\"enc.w\":{\"dtype\":\"" + dtype + "\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
                  {"tensor 'enc.w'", "expected dtype F32, F64, I32 or BOOL, got '" + dtype + "'"});
}

TEST_CASE("a key that comes twice is refused") {
  const std::string w = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  check_refused(file_of("{" + w + "," + w + "}", data_of(kPair)), {"tensor 'w': the name comes twice"});
  check_refused(file_of(R"({"w":{"dtype":"F32","dtype":"F32"}})"), {"tensor 'w': dtype comes twice"});
  check_refused(file_of(R"({"w":{"shape":[1],"shape":[2]}})"), {"tensor 'w': shape comes twice"});
  check_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), {"'__metadata__' comes twice"});
  check_refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})"), {"metadata key 'k' comes twice"});
  // The same name once with an escape.
  check_refused(
      file_of("{" + w + R"(,"\u0077":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})", data_of(kPair)),
      {"tensor 'w': the name comes twice"});
}

TEST_CASE("tensors must tile the data") {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
                   std::string(bytes, '\0'));
  };
  const TempFolder folder;
  const io::SafetensorsFile good(folder.write("good", two("[4,8]", "[0,4]", 8)));
  CHECK(good.entries().size() == 2);
  check_refused(two("[0,4]", "[0,4]", 8), {"tensor 'b'", "begin at byte 4, got 0 (an overlap)"});
  check_refused(two("[0,4]", "[2,6]", 8), {"tensor 'b'", "begin at byte 4, got 2 (an overlap)"});
  check_refused(two("[0,4]", "[5,9]", 9), {"tensor 'b'", "begin at byte 4, got 5 (a hole before it)"});
  check_refused(two("[1,5]", "[5,9]", 9), {"tensor 'a'", "begin at byte 0, got 1 (a hole before it)"});
  check_refused(two("[0,4]", "[4,8]", 9), {"expected 8 bytes of data, got 9"});
  check_refused(two("[0,4]", "[4,8]", 7), {"tensor 'b'", "[4, 8] end beyond the file's 7 bytes of data"});
  check_refused(two("[4,0]", "[4,8]", 8), {"tensor 'a'", "[4, 0] end before they begin"});
  check_refused(two("[0,4]", "[4,9223372036854775807]", 8), {"tensor 'b'", "end beyond the file's 8 bytes"});
  check_refused(two("[0,4]", "[4,7]", 7), {"tensor 'b'", "expected 4 bytes for F32[1], got 3"});
  check_refused(file_of("{}", "x"), {"expected 0 bytes of data, got 1"});
}

TEST_CASE("a shape whose size overflows is refused") {
  const auto shaped = [](const std::string& shape) {
    return file_of(R"({"w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,0]}})");
  };
  // 2^62 * 4 bytes wraps to 0 in 64 bits, and so does 2^32 * 2^32.
  check_refused(shaped("[4611686018427387904]"), {"tensor 'w'", "beyond 2^63 - 1 bytes"});
  check_refused(shaped("[4294967296,4294967296]"), {"tensor 'w'", "beyond 2^63 - 1 bytes"});
  const TempFolder folder;
  const io::SafetensorsFile zero(folder.write("zero", shaped("[0,4611686018427387904]")));
  CHECK(zero.find("w")->data.empty());
}

TEST_CASE("a deeply nested header is refused without a deep stack") {
  std::string arrays, objects;
  for (int i = 0; i < 1'000'000; ++i) {
    arrays += '[';
    objects += "{\"a\":";
  }
  check_refused(file_of(R"({"w":{"shape":)" + arrays),
                {"expected integers from 0 to 2^63 - 1, got an array"});
  check_refused(file_of(R"({"w":)" + arrays), {"expected an object, got an array"});
  check_refused(file_of(objects), {"'a'"});
}

TEST_CASE("a bool that is neither 0 nor 1 is refused") {
  check_refused(file_of(R"({"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2"),
                {"tensor 'b'", "expected bools 0 or 1, got 2"});
}

TEST_CASE("a hostile name does not flood the message") {
  const std::string name(1'000'000, 'x');
  const TempFolder folder;
  const auto path = folder.write("bad", file_of("{\"" + name + "\\u001b\":1}"));
  CHECK(message_of<UserError>([&] { io::SafetensorsFile{path}; }).size() < 400);
  const auto broken = folder.write("broken", file_of("{\"" + name + "\n"));
  CHECK(message_of<UserError>([&] { io::SafetensorsFile{broken}; }).size() < 400);
}

TEST_CASE("a file cut at any byte is refused") {
  const TempFolder folder;
  write_pair(folder.path("w"));
  const std::string whole = folder.read("w");
  REQUIRE(whole.size() > 60);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto path = folder.write("cut", whole.substr(0, length));
    CHECK_THROWS_AS(io::SafetensorsFile{path}, UserError);
  }
}

TEST_CASE("a file with any one byte changed is refused or still a file") {
  const TempFolder folder;
  write_pair(folder.path("w"));
  const std::string whole = folder.read("w");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size() - 8; ++at)
    for (const int mask : {0x01, 0x20, 0x80}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ mask);
      const auto path = folder.write("changed", changed);
      const std::string message = message_of<UserError>([&] { io::SafetensorsFile{path}; });
      if (message != "nothing was thrown") ++refused;
    }
  // Only a letter of the name and the padding's neighbours may change unseen.
  CHECK(refused > static_cast<int>(whole.size() - 8) * 3 * 9 / 10);
}

TEST_CASE("what cannot be read is refused with the system's reason") {
  const TempFolder folder;
  const auto message = [&](const std::string& name) {
    return message_of<UserError>([&] { io::SafetensorsFile{folder.path(name)}; });
  };
  CHECK_THAT(message("none"),
             ContainsSubstring(folder.path("none") + "': cannot open: No such file or directory"));
  CHECK_THAT(message(""), ContainsSubstring("Is a directory"));
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK_THAT(message("pipe"), ContainsSubstring("not a regular file"));
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
