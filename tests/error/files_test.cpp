// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <wafer/io/safetensors.hpp>

using namespace error_test;

namespace {

struct Saved {
  std::string name;
  std::vector<Index> shape;
  std::vector<float> values;
};

std::string write(const TempFolder& folder, const std::vector<Saved>& tensors) {
  std::vector<io::Entry> entries;
  for (const Saved& t : tensors)
    entries.push_back({t.name, DType::f32, t.shape, std::as_bytes(std::span<const float>(t.values))});
  const std::string path = folder.path("made.safetensors");
  io::write_safetensors(path, entries);
  return path;
}

std::vector<Saved> all() {
  return {{"fc1.weight", {8, 5}, std::vector<float>(40, 1)},
          {"fc1.bias", {8}, std::vector<float>(8, 2)},
          {"head.weight", {3, 8}, std::vector<float>(24, 3)},
          {"head.bias", {3}, std::vector<float>(3, 4)}};
}

}  // namespace

TEST_CASE("files that do not fit change no weight") {
  for (const Fabric& fabric : {Fabric::host(), Fabric::mesh(2, 2)}) {
    const TempFolder folder;
    const Network n;
    const Executable executable = compile(n.requests(), fabric);
    Session session{executable};
    Unharmed unharmed(session, executable);
    const auto refused = [&](const std::string& path, const std::vector<std::string>& parts) {
      const std::vector<std::vector<float>> before = variables(session);
      expect_message<UserError>([&] { session.load(path); }, parts);
      CHECK(variables(session) == before);
    };
    std::vector<Saved> tensors = all();
    tensors.pop_back();
    refused(write(folder, tensors), {"file '", "made.safetensors': ", "'head.bias'", "without"});
    tensors = all();
    tensors.push_back({"tail", {1}, {5}});
    refused(write(folder, tensors), {"made.safetensors", "'tail'"});
    tensors = all();
    tensors[0].shape = {5, 8};
    refused(write(folder, tensors), {"'fc1.weight'", "[8, 5]", "[5, 8]"});
    tensors = all();
    tensors[3].shape = {1, 3};
    refused(write(folder, tensors), {"'head.bias'", "[3]", "[1, 3]"});
    refused(folder.write("README.md", "# A text\n\nof some words."),
            {"file '", "README.md': no safetensors file: expected a header"});
    refused(folder.path("missing.safetensors"), {"missing.safetensors"});

    session.save(folder.path("good.safetensors"));
    const std::string good = folder.read("good.safetensors");
    for (std::size_t length : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{60},
                               good.size() / 2, good.size() - 1}) {
      INFO("truncated to " << length);
      refused(folder.write("cut.safetensors", good.substr(0, length)), {"cut.safetensors"});
    }
    std::string hostile = good;
    hostile.replace(0, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
    refused(folder.write("hostile.safetensors", hostile), {"hostile.safetensors"});
    unharmed.check();

    const std::vector<std::vector<float>> now = variables(session);
    CHECK(now.at(0) != std::vector<float>(40, 1));
    session.load(write(folder, all()));
    CHECK(session.get("fc1.weight") == std::vector<float>(40, 1));
    CHECK(session.get("head.bias") == std::vector<float>(3, 4));
  }
}

TEST_CASE("a file that cannot be written") {
  const TempFolder folder;
  const Network n;
  Session session{compile(n.requests(), Fabric::host())};
  expect_message<UserError>([&] { session.save(folder.path("no/such/folder.safetensors")); }, {"no/such"});
  CHECK(folder.names().empty());
}

TEST_CASE("a missing folder of Fashion-MNIST names the package that has it") {
  const TempFolder folder;
  expect_message<UserError>([&] { data::fashion_mnist(folder.path("none"), "train"); },
                            {"fashion_mnist", "none'", "dataset-fashion-mnist", "/usr/share/datasets"});
}
