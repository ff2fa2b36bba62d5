// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// How low and how fast buffers are packed. usage: bench_memory_plan [FOLDER [PICTURE_FOLDER]]
// FOLDER holds instances as .csv, anywhere below it (buffer_file.hpp). A number in a name, as in
// A.1048576.csv, is the capacity that is asked for. Prints for each, and for 100 000 random buffers of short
// and of long lives:
//   memplan_<file> bound V      the max-live bound, bytes
//   memplan_<file> height V     of the packing, bytes; checked by verify()
//   memplan_<file> ratio V      of the two
//   memplan_<file> seconds V
#include <wafer/compiler/packer.hpp>
#include <wafer/report/packing.hpp>

#include "buffer_file.hpp"
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace wafer;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRandomBuffers = 100'000;
constexpr std::size_t kLargestPicture = 5000;

void run(const std::string& name, const std::vector<PackBuffer>& buffers, const PackOptions& options,
         const fs::path& pictures) {
  const double start = now();
  const Packing packing = pack(buffers, options);
  const double seconds = now() - start;
  packing.verify(buffers);
  const auto print = [&](const char* metric, Index value) {
    std::printf("memplan_%s %s %lld\n", name.c_str(), metric, static_cast<long long>(value));
  };
  print("buffers", static_cast<Index>(buffers.size()));
  print("bound", packing.max_live);
  print("height", packing.height);
  print("optimal", packing.optimal ? 1 : 0);
  std::printf(
      "memplan_%s ratio %.5f\n", name.c_str(),
      static_cast<double>(packing.height) / static_cast<double>(std::max(packing.max_live, Index{1})));
  std::printf("memplan_%s seconds %.3f\n", name.c_str(), seconds);
  std::fflush(stdout);
  if (!pictures.empty() && buffers.size() <= kLargestPicture)
    std::ofstream(pictures / (name + ".svg")) << packing_svg(buffers, packing);
}

/// Sizes up to 64 KiB in units of 64 bytes; most lives are much shorter than the longest.
std::vector<PackBuffer> random_buffers(Index longest) {
  std::uint64_t state = 1;
  const auto below = [&](Index limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<Index>((state >> 33) % static_cast<std::uint64_t>(limit));
  };
  std::vector<PackBuffer> buffers(kRandomBuffers);
  for (PackBuffer& b : buffers) {
    b.size = 64 * (1 + below(1024));
    b.alignment = 64;
    b.begin = below(static_cast<Index>(kRandomBuffers));
    b.end = b.begin + 1 + below(1 + below(longest));
  }
  return buffers;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string folder = argc > 1 ? argv[1] : WAFER_INSTANCES;
    const fs::path pictures = argc > 2 ? argv[2] : "";
    const std::vector<fs::path> files = files_below(folder, ".csv");
    if (files.empty()) std::printf("memplan skipped: no data in \"%s\"\n", folder.c_str());
    for (const fs::path& file : files) {
      PackOptions options;
      options.capacity = wafer_bench::capacity_in_name(file.filename().string());
      run(file.stem().string(), wafer_bench::read_buffers(file.string()), options, pictures);
    }
    run("random_short", random_buffers(200), {}, pictures);
    run("random_long", random_buffers(20'000), {}, pictures);
    std::printf("memplan peak_rss_MiB %.0f\n", peak_rss_mib());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
