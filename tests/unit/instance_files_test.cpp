// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0

// The benchmarks' readers of public instances, and what the engines make of these where a folder of them is
// given: cmake -DWAFER_INSTANCES=...
#include "../../bench/buffer_file.hpp"
#include "../../bench/kernel_file.hpp"
#include "catch.hpp"
#include "temp_folder.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;
using wafer_test::message_of;
using wafer_test::TempFolder;

namespace {

const std::string kInstances = WAFER_INSTANCES;

const std::string kHeader =
    "(*\ntest=tiny\nwidth=64\nheight=64\nwdeltat=1\nwlength=1\nwadapter=0\nmemlimit=24576\n*)\n\n";
const std::string kConvolution = "conv[1] W=8 H=8 R=3 S=3 C=16 K=16 T=1 U=1 name='a'\n";

std::string buffers_message(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("x.csv", text);
  return message_of<UserError>([&] { wafer_bench::read_buffers(path); });
}

std::string kernels_message(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("x.kgraph", text);
  return message_of<UserError>([&] { wafer_bench::read_kernels(path); });
}

}  // namespace

TEST_CASE("instance files: buffers") {
  const TempFolder folder;
  const auto buffers = wafer_bench::read_buffers(
      folder.write("a.csv", "id,lower,upper,size\nb1,0,3,4\r\nb2,-3,9,9000000000\n"));
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].end == 3);
  CHECK(buffers[1].begin == -3);
  CHECK(buffers[1].size == 9'000'000'000);
  CHECK(wafer_bench::capacity_in_name("A.1048576.csv") == 1048576);
  CHECK(!wafer_bench::capacity_in_name("iopddl_G_1.csv"));
}

TEST_CASE("instance files: malformed buffers are refused with their line") {
  const std::string head = "id,lower,upper,size\n";
  CHECK_THAT(buffers_message(""), ContainsSubstring("x.csv:1: expected buffers"));
  CHECK_THAT(buffers_message("lower,upper\n"), ContainsSubstring("x.csv:1: expected the header"));
  CHECK_THAT(buffers_message(head), ContainsSubstring("x.csv:2: expected buffers"));
  CHECK_THAT(buffers_message(head + "0,1,2,3\n1,4,5"),
             ContainsSubstring("x.csv:3: expected 4 fields, got 3"));
  CHECK_THAT(buffers_message(head + "0,1,2,3,4\n"), ContainsSubstring("x.csv:2: expected 4 fields, got 5"));
  CHECK_THAT(buffers_message(head + "0,1,2,\n"),
             ContainsSubstring("x.csv:2: expected a 64-bit integer for size"));
  CHECK_THAT(buffers_message(head + "0,1,2x,3\n"), ContainsSubstring("for upper, got \"2x\""));
  CHECK_THAT(buffers_message(head + "0,1,2,99999999999999999999\n"), ContainsSubstring("x.csv:2"));
  CHECK_THAT(buffers_message(head + "0,5,2,3\n"), ContainsSubstring("x.csv:2: the lifetime runs backwards"));
  CHECK_THAT(buffers_message(head + "0,1,2,-3\n"), ContainsSubstring("x.csv:2: the size is negative"));
  CHECK_THAT(buffers_message(head + "0,1,2,3\n\n"), ContainsSubstring("x.csv:3: expected 4 fields, got 1"));
  CHECK_THAT(buffers_message(head + "0,1,2,3\n1,1,2,3\n0,4,5,6\n"),
             ContainsSubstring("x.csv:4: expected an id that no line before has, got \"0\""));
  CHECK_THAT(buffers_message(head + ",1,2,3\n"), ContainsSubstring("x.csv:2: expected an id"));
  CHECK_THAT(buffers_message(head + "0,1,2,9223372036854775807\n1,8,9,1\n"),
             ContainsSubstring("x.csv:3: sizes up to this one add up to 2^63 or more"));
  CHECK_THAT(message_of<UserError>([] { wafer_bench::read_buffers("/no/such/file"); }),
             ContainsSubstring("/no/such/file"));
}

TEST_CASE("instance files: kernels") {
  const TempFolder folder;
  const wafer_bench::KernelFile file = wafer_bench::read_kernels(folder.write(
      "a.kgraph", kHeader + "(* Node Definitions *)\ninput[ 0] n=[8 8 16] name='i'\n" + kConvolution +
                      "dblock[2] f=16 h=4 w=4 name='b'\noutput[3] n=[4 4 16] name='o'\n\n" +
                      "(* Connectivity *)\ninput[0]:_ -> conv[ 1]:x, shape:[8][8][16]\n" +
                      "conv[1]:y\t->\tdblock[2]:x, shape:[8][8][16]\n" +
                      "dblock[2]:y -> output[3]:_, shape:[4][4][16]"));
  CHECK(file.request.rows == 64);
  CHECK(file.request.memory_limit == 24576);
  CHECK(file.names == std::vector<std::string>{"conv[1]", "dblock[2]"});
  REQUIRE(file.request.connections.size() == 1);
  CHECK(file.request.connections[0].to == 1);
  // h = w = c = k = 1: 2 x 3 cores, 8 * 8 * 16 * 16 * 9 steps, 16 * 16 * 9 + 10 * 10 * 16 words.
  const KernelShape& least = file.request.kernels[0].shapes.front();
  CHECK(least.height == 2);
  CHECK(least.width == 3);
  CHECK(least.time == 147456);
  CHECK(least.memory == 3904);
  // dblock, all 1: 2 x 9 cores; the slowest part is one of the 1 x 1, 4 * 4 * 16 * 4.
  const KernelShape& block = file.request.kernels[1].shapes.front();
  CHECK(block.height == 2);
  CHECK(block.width == 9);
  CHECK(block.time == 4 * 4 * 4 * 4 * 9);
  plan_floor(file.request).verify(file.request);
}

TEST_CASE("instance files: malformed kernels are refused with their line") {
  CHECK_THAT(kernels_message(""), ContainsSubstring("x.kgraph:1: the file ends, expected width"));
  CHECK_THAT(kernels_message("(*\nwidth=12\n"),
             ContainsSubstring("x.kgraph:3: the file ends, expected height"));
  CHECK_THAT(kernels_message("(*\nheight=12\n*)\n"), ContainsSubstring("x.kgraph:2: expected width"));
  CHECK_THAT(kernels_message("(*\nwidth=-1\n*)\n"), ContainsSubstring("x.kgraph:2: expected a number"));
  CHECK_THAT(kernels_message("(*\nwidth=5\nheight=0\n*)\n"),
             ContainsSubstring("x.kgraph:3: expected a positive height"));
  CHECK_THAT(kernels_message("(*\nwidth\n*)\n"), ContainsSubstring("x.kgraph:2: expected name=value"));
  CHECK_THAT(kernels_message("width=1\n"), ContainsSubstring("x.kgraph:1: a kernel before the header"));
  CHECK_THAT(kernels_message("*)\n"), ContainsSubstring("x.kgraph:1: a comment ends"));
  CHECK_THAT(kernels_message(kHeader), ContainsSubstring("x.kgraph:11: the file ends, expected kernels"));
  const std::string head = kHeader + "input[0] n=[1] name='i'\n";  // the next line is the 12th
  CHECK_THAT(kernels_message(head + "conv[2] W=8\n"),
             ContainsSubstring("x.kgraph:12: expected kernel number 1"));
  CHECK_THAT(kernels_message(head + "conv[1] W=8 H=8\n"), ContainsSubstring("x.kgraph:12: expected C="));
  CHECK_THAT(kernels_message(head + "conv[1] W=8 H=0\n"),
             ContainsSubstring("x.kgraph:12: expected a positive H"));
  CHECK_THAT(kernels_message(head + "pool[1] w=8 h=8 f=8\n"),
             ContainsSubstring("x.kgraph:12: expected conv"));
  CHECK_THAT(kernels_message(head + "dblock[1] w=8 h=8 f=7\n"),
             ContainsSubstring("x.kgraph:12: expected an f"));
  CHECK_THAT(kernels_message(head + "cblock[1] w=7 h=8 f=8\n"),
             ContainsSubstring("x.kgraph:12: expected an even"));
  CHECK_THAT(kernels_message(head + "conv 1\n"), ContainsSubstring("x.kgraph:12: expected a kernel such as"));
  CHECK_THAT(kernels_message(head + kConvolution + "conv[1]:y -> conv[7]:x\n"),
             ContainsSubstring("x.kgraph:13: a connection with conv[7]"));
  CHECK_THAT(kernels_message(head + kConvolution + "conv[1]:y ->\n"),
             ContainsSubstring("x.kgraph:13: expected a kernel such as"));
  CHECK_THAT(kernels_message(head + kConvolution + "(* not closed\n"),
             ContainsSubstring("x.kgraph:14: the file ends in a comment"));
}

TEST_CASE("instances: buffers that greedy packing cannot place reach their capacity") {
  if (kInstances.empty()) WAFER_NOT_RUN("no WAFER_INSTANCES");
  int packed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kInstances + "/minimalloc")) {
    const auto capacity = wafer_bench::capacity_in_name(entry.path().filename().string());
    if (!capacity) continue;
    const auto buffers = wafer_bench::read_buffers(entry.path().string());
    PackOptions options;
    options.capacity = capacity;
    const Packing packing = pack(buffers, options);
    packing.verify(buffers);
    CHECK(packing.height <= *capacity);
    ++packed;
  }
  CHECK(packed == 7);
}

TEST_CASE("instances: large sets of buffers come within half a percent of their bound") {
  if (kInstances.empty()) WAFER_NOT_RUN("no WAFER_INSTANCES");
  struct Known {
    const char* name;
    std::size_t buffers;
    Index bound;
  };
  for (const Known& known : std::array<Known, 3>{{{"iopddl_G_1", 816, 3030937746},
                                                  {"somas_tensors_resnet50", 1042, 1515472556},
                                                  {"iopddl_S_1", 28526, 1498635932}}}) {
    const auto buffers = wafer_bench::read_buffers(kInstances + "/idealloc/" + known.name + ".csv");
    CHECK(buffers.size() == known.buffers);
    const Packing packing = pack(buffers);
    packing.verify(buffers);
    CHECK(packing.max_live == known.bound);
    CHECK(static_cast<double>(packing.height) <= 1.005 * static_cast<double>(packing.max_live));
  }
}

TEST_CASE("instances: kernels on a wafer, against a placement in rows") {
  if (kInstances.empty()) WAFER_NOT_RUN("no WAFER_INSTANCES");
  struct Known {
    const char* name;
    double bound, rows_time, rows_score;
  };
  for (const Known& known : std::array<Known, 5>{{{"A", 33148, 34500, 35819},
                                                  {"C", 60258, 62738, 72298},
                                                  {"I", 46583, 48169, 57634},
                                                  {"K", 251, 252, 1944},
                                                  {"M", 2156530, 2212185, 2230033}}}) {
    wafer_bench::KernelFile file =
        wafer_bench::read_kernels(kInstances + "/ispd2020/" + known.name + ".kgraph");
    INFO(known.name);
    file.request.most_time = known.rows_time;
    file.request.effort = 500'000'000;
    const FloorPlan plan = plan_floor(file.request);
    plan.verify(file.request);
    CHECK(plan.time_bound > known.bound);
    CHECK(plan.time_bound < known.bound * 1.005);
    CHECK(plan.time <= known.rows_time);
    CHECK(plan.score <= known.rows_score);
  }
}
