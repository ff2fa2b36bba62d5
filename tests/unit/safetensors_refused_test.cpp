// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/io/safetensors.hpp>

#include "catch.hpp"
#include "safetensors_fixture.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace wafer;
using namespace wafer_test;
using Catch::Matchers::ContainsSubstring;

namespace {

void check_refused(const std::string& content, const std::vector<std::string>& reasons) {
  const TempFolder folder;
  const std::string path = folder.write("bad", content);
  const std::string message = message_of<UserError>([&] { io::SafetensorsFile{path}; });
  CHECK_THAT(message, ContainsSubstring(path));
  for (const auto& reason : reasons) CHECK_THAT(message, ContainsSubstring(reason));
}

}  // namespace

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
