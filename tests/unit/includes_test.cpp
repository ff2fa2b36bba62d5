// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// Holds every #include of include/ and src/ against the floors of the house: folders depend downwards only.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// A folder and the folders below that it may see, besides itself. `runtime` is a floor above `executable`,
// the part of runtime/ that the compiler fills and the executor reads.
const std::map<std::string, Names> kBelow = {
    {"ground", {}},
    {"core", {"ground"}},
    {"kernels", {"ground", "core"}},
    {"fabric", {"ground", "core", "kernels"}},
    {"io", {"ground", "core"}},
    {"data", {"ground", "core", "io"}},
    {"graph", {"ground", "core", "kernels"}},
    {"ops", {"ground", "core", "kernels", "graph"}},
    {"nn", {"ground", "core", "graph", "ops"}},
    {"optim", {"ground", "core", "kernels", "graph", "ops"}},
    {"executable", {"ground", "core", "kernels", "graph"}},
    // The compiler runs Boost.Graph on the graph through the public bridge.
    {"compiler", {"ground", "core", "kernels", "graph", "ops", "optim", "fabric", "executable", "bridge"}},
    {"runtime", {"ground", "core", "kernels", "io", "executable"}},
    {"report", {"ground", "core", "graph", "ops", "optim", "fabric", "compiler", "executable", "runtime"}},
    {"testing",
     {"ground", "core", "kernels", "graph", "ops", "nn", "optim", "fabric", "compiler", "executable",
      "runtime", "io", "data", "report"}},
    {"bridge",
     {"ground", "core", "graph", "ops", "nn", "optim", "fabric", "compiler", "executable", "runtime", "io",
      "data", "report"}},
};

// Which parts of a floor below are out of sight all the same: what runs never sees a graph, only its ops.
const std::map<std::string, Names> kHidden = {
    {"executable", {"wafer/graph/graph.hpp", "wafer/graph/graph_data.hpp", "wafer/graph/tensor.hpp"}},
};

struct Include {
  std::string file;    // relative to the project
  std::string target;  // as written
  bool quoted = false;
};

const fs::path kRoot = WAFER_SOURCE_DIR;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> files_below(const std::vector<std::string>& folders, const Names& extensions) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file() && extensions.contains(entry.path().extension().string())) {
        files.push_back(fs::relative(entry.path(), kRoot).generic_string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Include> includes_of(const std::vector<std::string>& files) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  for (const std::string& file : files) {
    for (const std::string& line : lines_of(kRoot / file)) {
      if (std::smatch match; std::regex_search(line, match, pattern)) {
        includes.push_back({file, match[2], match[1] == "\""});
      }
    }
  }
  return includes;
}

// The floor of a path such as "graph/graph.hpp"; empty for wafer.hpp and ops.hpp, which stand above all.
std::string floor_of(const fs::path& path) {
  if (!path.has_parent_path()) {
    const std::string stem = path.stem().string();
    return stem == "wafer" || stem == "ops" ? "" : "ground";
  }
  const std::string folder = path.begin()->string();
  if (folder == "runtime" && path.filename().string().starts_with("executable")) return "executable";
  return folder;
}

// What an include of the project itself names, below include/wafer or src; empty for anything else.
fs::path own_target(const Include& include) {
  const fs::path target = include.target;
  if (target.begin()->string() == "wafer") return target.lexically_relative("wafer");
  if (!include.quoted) return {};
  if (fs::exists(kRoot / "src" / target)) return target;
  const fs::path beside = (fs::path(include.file).parent_path() / target).lexically_normal();
  if (!fs::exists(kRoot / beside)) return {};
  const std::string text = beside.generic_string();
  return text.starts_with("src/") ? beside.lexically_relative("src")
                                  : beside.lexically_relative("include/wafer");
}

fs::path own_path(const std::string& file) {
  const fs::path path = file;
  return file.starts_with("src/") ? path.lexically_relative("src") : path.lexically_relative("include/wafer");
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_standard(const std::string& target) { return target.find_first_of("/.") == target.npos; }

}  // namespace

TEST_CASE("folders depend downwards only") {
  const auto includes = includes_of(files_below({"include", "src"}, {".hpp", ".cpp"}));
  REQUIRE(includes.size() > 10);
  std::vector<std::string> faults;
  for (const Include& include : includes) {
    const fs::path target = own_target(include);
    if (target.empty()) continue;
    const std::string from = floor_of(own_path(include.file)), to = floor_of(target);
    if (from.empty()) continue;
    const auto below = kBelow.find(from);
    if (below == kBelow.end()) {
      faults.push_back(include.file + ": the folder " + from +
                       "/ has no floor yet; give it one in this test");
    } else if (from != to && !below->second.contains(to)) {
      const std::string what = to.empty() ? "what stands above all" : to + "/";
      faults.push_back(include.file + ": " + from + "/ includes " + include.target + " of " + what);
    } else if (const auto hidden = kHidden.find(from);
               hidden != kHidden.end() && hidden->second.contains(include.target)) {
      faults.push_back(include.file + ": " + from + "/ must not see " + include.target);
    }
  }
  INFO(joined(faults));
  CHECK(faults.empty());
}

TEST_CASE("public headers include the standard library and wafer alone") {
  // Too heavy for a header that every program of the host includes, or an invitation to hidden state.
  const Names unwanted = {"functional", "any",     "map",     "iostream", "ostream", "istream",
                          "sstream",    "fstream", "iomanip", "regex",    "thread",  "future"};
  std::vector<std::string> faults;
  for (const Include& include : includes_of(files_below({"include"}, {".hpp"}))) {
    if (include.file.starts_with("include/wafer/bridge/")) continue;
    const bool fine = is_standard(include.target) ? !unwanted.contains(include.target)
                                                  : include.target.starts_with("wafer/");
    if (!fine) faults.push_back(include.file + " includes " + include.target);
    if (include.target.starts_with("wafer/bridge/")) faults.push_back(include.file + " includes a bridge");
  }
  INFO(joined(faults));
  CHECK(faults.empty());
}

TEST_CASE("oneTBB is included by one source, which the thread sanitizer spares") {
  std::vector<std::string> faults;
  for (const Include& include : includes_of(files_below({"include", "src"}, {".hpp", ".cpp"}))) {
    const bool tbb = include.target.starts_with("tbb/") || include.target.starts_with("oneapi/");
    const bool allowed =
        include.file == "src/runtime/workers.cpp" || include.file == "include/wafer/bridge/tbb.hpp";
    if (tbb && !allowed) faults.push_back(include.file + " includes " + include.target);
  }
  INFO(joined(faults));
  CHECK(faults.empty());
}

TEST_CASE("wafer.hpp knows its build") {
  // config.hpp refuses -ffast-math and turns a mixed build into a link error, so what hosts include must
  // reach it.
  std::map<std::string, std::vector<std::string>> included;
  for (const Include& include : includes_of(files_below({"include"}, {".hpp"}))) {
    included[include.file].push_back("include/" + include.target);
  }
  std::vector<std::string> waiting = {"include/wafer/wafer.hpp"};
  Names reached;
  while (!waiting.empty()) {
    const std::string file = waiting.back();
    waiting.pop_back();
    if (!reached.insert(file).second) continue;
    waiting.insert(waiting.end(), included[file].begin(), included[file].end());
  }
  CHECK(reached.contains("include/wafer/config.hpp"));
}

TEST_CASE("every file names its licence") {
  const Names extensions = {".hpp", ".cpp", ".h", ".sh", ".cmake", ".txt", ".py", ".in"};
  std::vector<std::string> faults;
  for (const std::string& file :
       files_below({"include", "src", "tests", "bench", "examples", "cmake", ".ci"}, extensions)) {
    const auto lines = lines_of(kRoot / file);
    std::size_t first = !lines.empty() && lines[0].starts_with("#!") ? 1 : 0;
    const bool named = lines.size() > first + 1 &&
                       lines[first].ends_with("SPDX-FileCopyrightText: The wafer authors") &&
                       lines[first + 1].ends_with("SPDX-License-Identifier: Apache-2.0");
    const bool verbatim =
        file.ends_with(".pc.in") || file.starts_with("tests/golden/");  // output, word for word
    if (!named && !verbatim) faults.push_back(file + ": no SPDX lines");
  }
  INFO(joined(faults));
  CHECK(faults.empty());
}
