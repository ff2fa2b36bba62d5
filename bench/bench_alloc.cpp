// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// A step touches no allocator, its memory is what was planned, and a small network takes little of it.
// usage: bench_alloc [STEPS]     `name metric value` lines; exit 1 where one of them is wrong
#include "alloc_counter.hpp"
#include "runtime/session_state.hpp"

#include <wafer/testing/hooks.hpp>
#include <wafer/wafer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr long kMostResidentKiB = 16 * 1024;

/// One network, optimizer, fabric and number of threads.
struct Case {
  bool small = true;  ///< mlps 64-32-10, batch 32; or mlp 784-512-512-10, batch 128
  bool adamw = false;
  bool mesh = false;
  Index threads = 1;
  Index batch() const { return small ? 32 : 128; }
  Index features() const { return small ? 64 : 784; }
  std::string text() const {
    return std::string(small ? "mlps" : "mlp") + (adamw ? "_adamw" : "_sgd") + (mesh ? "_mesh" : "_host") +
           "_t" + std::to_string(threads);
  }
};

Executable compile_case(const Case& c) {
  Graph g;
  const Axis b = g.axis("batch", c.batch());
  const Tensor image = g.input("image", {b, c.features()});
  const Tensor label = g.input("label", {b}, DType::i32);
  const Tensor hidden = image | nn::Linear{c.small ? 32 : 512, "fc1"} | Relu{};
  const Tensor last = c.small ? hidden : hidden | nn::Linear{512, "fc2"} | Relu{};
  const Tensor logits = last | nn::Linear{10, "head"};
  const Tensor loss = logits | cross_entropy(label);
  if (c.mesh) {
    image.split(b, Mesh::rows);
    hidden.split(-1, Mesh::columns);
  }
  Request request = c.adamw ? minimize(loss, AdamW{.lr = warmup_cosine(1e-3, 10, 1000)}).clip_norm(1.0)
                            : minimize(loss, SGD{.lr = 0.05, .momentum = 0.9});
  return compile({{"train", std::move(request).fetch("loss", loss)}},
                 c.mesh ? Fabric::mesh(2, 2) : Fabric::host(), {.threads = c.threads});
}

/// Inputs by a formula.
struct Inputs {
  std::vector<float> image;
  std::vector<std::int32_t> label;
  explicit Inputs(const Case& c)
      : image(static_cast<std::size_t>(c.batch() * c.features())),
        label(static_cast<std::size_t>(c.batch())) {
    for (std::size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<float>((i * 2654435761U >> 8) & 0xffffU) / 65536.0F;
    for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i * 7 % 10);
  }
};

bool check_allocations(const Case& c, Index steps) {
  Session session{compile_case(c), {.threads = c.threads}};
  const Inputs in(c);
  Index threads = 0;
  {
    const Gathering gathering(session);
    session.step("train", {{"image", in.image}, {"label", in.label}});
    threads = gathering.threads();
  }
  const StepHandle train = session.bind_step("train");
  const InputHandle image = session.bind("image"), label = session.bind("label");
  double loss = 0;
  alloc_counter::start();
  for (Index k = 0; k < steps; ++k) {
    loss = k % 2 == 0 ? session.step(train, {{image, in.image}, {label, in.label}})["loss"].scalar()
                      : session.step("train", {{"image", in.image}, {"label", in.label}})["loss"].scalar();
  }
  const long allocations = alloc_counter::stop();
  std::printf("alloc_%s allocations %ld\n", c.text().c_str(), allocations);
  std::fflush(stdout);
  if (threads != c.threads || !(loss == loss)) std::printf("alloc_%s WRONG run\n", c.text().c_str());
  const bool counted = !alloc_counter::tbb_has_its_own();
  if (!counted) std::printf("libtbbmalloc is loaded, so that its allocations are not counted\n");
  return counted && allocations == 0 && threads == c.threads && loss == loss;
}

std::vector<std::uint8_t> copy_of(const Arena& arena) {
  const auto bytes = arena.mapping();
  std::vector<std::uint8_t> out(bytes.size());
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// What an arena held after the same steps from two patterns: a byte that still has both was never written.
struct Image {
  static constexpr std::uint8_t kPatterns[2] = {0xa5, 0x5a};
  std::vector<std::uint8_t> after[2];
  Index front = 0;  ///< slack before the planned bytes
  bool written(Index at) const {
    const auto i = static_cast<std::size_t>(front + at);
    return after[0][i] != kPatterns[0] || after[1][i] != kPatterns[1];
  }
};

// The mapping is a line of its own, and a page that cannot be touched follows.
bool guarded(const Arena& arena, Index planned) {
  const auto mapping = arena.mapping();
  if (mapping.empty()) return planned == 0;
  const Index page = sysconf(_SC_PAGESIZE);
  bool good = static_cast<Index>(mapping.size()) == round_up(planned, page);
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data()), end = begin + mapping.size();
  bool own = false, guard = false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) != 3) continue;
    own = own || (from <= begin && to == end && std::string(access) == "rw-p");
    guard = guard || (from == end && std::string(access) == "---p");
  }
  const auto slack = static_cast<Index>(arena.data() - mapping.data());
  good = good && slack == static_cast<Index>(mapping.size()) - round_up(planned, 64);
  return good && own && guard;
}

struct Arenas {
  std::vector<Image> image;  ///< blocks, then DRAM, then scratch
  bool guards = true;
};

Arenas run_patterned(const Case& c, const ExecutableData& data,
                     const std::shared_ptr<const ExecutableData>& shared) {
  const Inputs in(c);
  const std::vector<Feed> feeds{{"image", in.image}, {"label", in.label}};
  Arenas out;
  for (int p = 0; p < 2; ++p) {
    SessionState state(shared, {.threads = c.threads}, Image::kPatterns[p]);
    for (int k = 0; k < 3; ++k) {
      state.take_feeds(0, feeds);
      ++state.run.step;
      state.executor->run(0, {});
    }
    std::vector<std::pair<const Arena*, Index>> arenas;
    for (const Arena& block : state.run.blocks) arenas.emplace_back(&block, data.sram_bytes);
    arenas.emplace_back(&state.run.dram, data.dram_bytes);
    arenas.emplace_back(&state.run.scratch, data.worker_bytes() * c.threads);
    out.image.resize(arenas.size());
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      const auto& [arena, planned] = arenas[a];
      out.guards = out.guards && guarded(*arena, planned);
      out.image[a].after[p] = copy_of(*arena);
      out.image[a].front = arena->mapping().empty() ? 0 : arena->data() - arena->mapping().data();
    }
  }
  return out;
}

// A large feed of a host is read where the caller has it, so that its own memory stays as it is.
bool is_lent(const ExecutableData& data, std::uint32_t buffer) {
  if (!data.host || data.buffers[buffer].bytes < kLargeFeed) return false;
  for (const ProgramRecord& program : data.programs) {
    for (const FeedRecord& feed : program.feeds) {
      if (feed.buffer == buffer) return true;
    }
  }
  return false;
}

bool check_arenas(const Case& c) {
  const Executable executable = compile_case(c);
  const ExecutableData& data = *executable.data();
  const Arenas arenas = run_patterned(c, data, executable.data());
  const std::size_t blocks = arenas.image.size() - 2;
  std::vector<Index> greatest;
  for (const Axis& axis : data.axes) greatest.push_back(axis.extent);
  Index unwritten = 0, strayed = 0;
  for (std::size_t a = 0; a < blocks + 1; ++a) {
    const Image& image = arenas.image[a];
    const Space space = a < blocks ? Space::sram : Space::dram;
    std::vector<bool> planned(image.after[0].size());
    for (std::uint32_t b = 0; b < data.buffers.size(); ++b) {
      const BufferRecord& buffer = data.buffers[b];
      if (buffer.space != space || buffer.bytes == 0) continue;
      for (Index i = 0; i < buffer.bytes; ++i)
        planned[static_cast<std::size_t>(image.front + buffer.offset + i)] = true;
      if (is_lent(data, b)) continue;
      Place place;
      if (a < blocks)
        place.block = {static_cast<Index>(a) / data.parts[1], static_cast<Index>(a) % data.parts[1]};
      const Box held = BufferView(data, b, Grid{data.parts, 1}, place, greatest).held();
      std::array<Index, kMaxRank> extent{};
      for (std::size_t d = 0; d < static_cast<std::size_t>(held.rank); ++d) extent[d] = held.range[d].size();
      for_each_index(held.rank, extent, [&](const std::array<Index, kMaxRank>& index) {
        Index at = 0;
        for (std::size_t d = 0; d < static_cast<std::size_t>(held.rank); ++d)
          at += data.dims[buffer.first_dim + d].stride.at(index[d]);
        bool any = false;
        const Index size = size_of(buffer.dtype);
        for (Index k = 0; k < size; ++k) any = any || image.written(buffer.offset + at * size + k);
        unwritten += !any;
      });
    }
    for (Index i = 0; i < static_cast<Index>(planned.size()); ++i)
      strayed += !planned[static_cast<std::size_t>(i)] && image.written(i - image.front);
  }
  const Image& scratch = arenas.image.back();
  for (Index i = 0; i < scratch.front; ++i) strayed += scratch.written(i - scratch.front);
  std::printf(
      "arenas_%s unwritten_elements %lld\narenas_%s bytes_outside_of_buffers %lld\narenas_%s guarded %d\n",
      c.text().c_str(), static_cast<long long>(unwritten), c.text().c_str(), static_cast<long long>(strayed),
      c.text().c_str(), arenas.guards);
  std::fflush(stdout);
  return unwritten == 0 && strayed == 0 && arenas.guards;
}

// That the counter sees what it is for.
bool check_counter() {
  alloc_counter::start();
  std::vector<std::unique_ptr<long>> few(3);
  for (std::unique_ptr<long>& one : few) one = std::make_unique<long>(1);
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long seen = alloc_counter::stop();
  munmap(page, 4096);
  std::printf("alloc_counter allocations_of_five %ld\n", seen);
  return seen == 5;
}

// Of this process so far.
long peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
  }
  return -1;
}

bool check_resident() {
  const Case c;
  Session session{compile_case(c), {.threads = 2}};
  const Inputs in(c);
  for (int k = 0; k < 50; ++k) session.step("train", {{"image", in.image}, {"label", in.label}});
  const long kib = peak_resident_kib();
  std::printf("mlps peak_rss_MiB %.1f\n", static_cast<double>(kib) / 1024);
  return kib > 0 && kib <= kMostResidentKiB;
}

// A check in a process of its own: what threads of an earlier session do while they end is not a step's.
template <class F>
bool apart(const F& check) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = check();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::fflush(stdout);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Index steps = argc > 1 ? std::stol(argv[1]) : 1000;
  bool good = apart([] { return check_resident(); });
  good = apart([] { return check_counter(); }) && good;
  for (const bool small : {true, false}) {
    for (const bool adamw : {false, true}) {
      for (const bool mesh : {false, true}) {
        for (Index threads : {1, 2}) {
          const Case c{small, adamw, mesh, threads};
          good = apart([&] { return check_arenas(c); }) && good;
          good = apart([&] { return check_allocations(c, steps); }) && good;
        }
      }
    }
  }
  std::printf("alloc %s\n", good ? "none" : "WRONG");
  return good ? 0 : 1;
}
