// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <sys/stat.h>

#include <filesystem>

using namespace error_test;

TEST_CASE("a link to a file that is not there yet stays, and the file is made") {
  const TempFolder folder;
  const Network network;
  Session session{compile(network.requests(), Fabric::host())};
  std::filesystem::create_symlink("target", folder.path("link"));
  session.save(folder.path("link"));
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  session.load(folder.path("target"));
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  expect_message<UserError>([&] { session.save(folder.path("a")); }, {"'" + folder.path("a") + "'", "links"});
}

TEST_CASE("names with a NUL character are refused, not cut off") {
  const TempFolder folder;
  const Network network;
  Session session{compile(network.requests(), Fabric::host())};
  session.save(folder.path("w"));
  const std::string name = folder.path("w") + std::string("\0.old", 5);
  expect_message<UserError>([&] { session.save(name); }, {folder.path("w"), "NUL"});
  expect_message<UserError>([&] { session.load(name); }, {folder.path("w"), "NUL"});
  expect_message<UserError>([&] { data::read_idx(name); }, {folder.path("w"), "NUL"});
}

TEST_CASE("a pipe is no IDX file, and is not waited for") {
  const TempFolder folder;
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  expect_message<UserError>([&] { data::read_idx(folder.path("pipe")); },
                            {"'" + folder.path("pipe") + "'", "regular file"});
}
