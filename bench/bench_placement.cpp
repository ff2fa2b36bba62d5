// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// How well kernels are placed on a wafer. usage: bench_placement [FOLDER [PICTURE_FOLDER]]
// FOLDER holds instances of the ISPD 2020 contest as .kgraph, anywhere below it (kernel_file.hpp). Prints for
// each, of plans checked by verify(); times are modelled by the contest's formulas:
//   place_<name> bound V        no plan is faster: the kernels' cores would be more than there are
//   place_<name> time V         of the slowest kernel; no slower than a plain row-by-row placement, where its
//   place_<name> score V        time is known (kRows)
//   place_<name> seconds V
// and the same for place_<name>_fastest, which looks at time alone, and place_<name>_any, which may be as
// slow as the best score wants.
#include <wafer/compiler/floorplan.hpp>
#include <wafer/report/floorplan.hpp>

#include "kernel_file.hpp"
#include "measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace wafer;

namespace {

namespace fs = std::filesystem;

/// Time and score of a plain placement in rows, forth and back.
struct Rows {
  std::string_view name;
  double time, score;
};
constexpr std::array<Rows, 5> kRows{{{"A", 34500, 35819},
                                     {"C", 62738, 72298},
                                     {"I", 48169, 57634},
                                     {"K", 252, 1944},
                                     {"M", 2212185, 2230033}}};

/// `weighted`: with the contest's weights for the score.
FloorPlan run(const std::string& name, const FloorRequest& request, const FloorRequest& weighted) {
  const double start = now();
  FloorPlan plan = plan_floor(request);
  const double seconds = now() - start;
  plan.verify(request);
  std::printf("place_%s bound %.0f\nplace_%s time %.0f\nplace_%s time_over_bound %.4f\n", name.c_str(),
              plan.time_bound, name.c_str(), plan.time, name.c_str(), plan.time / plan.time_bound);
  std::printf("place_%s length %.1f\nplace_%s score %.0f\nplace_%s utilisation %.4f\nplace_%s seconds %.2f\n",
              name.c_str(), plan.length, name.c_str(),
              weighted.time_weight * plan.time + weighted.length_weight * plan.length, name.c_str(),
              plan.utilisation, name.c_str(), seconds);
  std::fflush(stdout);
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string folder = argc > 1 ? argv[1] : WAFER_INSTANCES;
    const fs::path pictures = argc > 2 ? argv[2] : "";
    const std::vector<fs::path> files = files_below(folder, ".kgraph");
    if (files.empty()) std::printf("place skipped: no data in \"%s\"\n", folder.c_str());
    double better = 0;
    int compared = 0;
    for (const fs::path& file : files) {
      const std::string name = file.stem().string();
      const wafer_bench::KernelFile kernels = wafer_bench::read_kernels(file.string());
      const auto rows =
          std::find_if(kRows.begin(), kRows.end(), [&](const Rows& r) { return r.name == name; });
      FloorRequest request = kernels.request;
      if (rows != kRows.end()) request.most_time = rows->time;
      const FloorPlan plan = run(name, request, kernels.request);
      if (rows != kRows.end()) {
        std::printf("place_%s time_over_rows %.4f\nplace_%s score_over_rows %.4f\n", name.c_str(),
                    plan.time / rows->time, name.c_str(), plan.score / rows->score);
        better += 1 - plan.score / rows->score;
        ++compared;
      }
      if (!pictures.empty())
        std::ofstream(pictures / (name + ".svg")) << floorplan_svg(request, plan, kernels.names);
      request = kernels.request;
      request.length_weight = 0;
      run(name + "_fastest", request, kernels.request);
      run(name + "_any", kernels.request, kernels.request);
    }
    if (compared > 0) std::printf("place score_better_on_average %.4f\n", better / compared);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
