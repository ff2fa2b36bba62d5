// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// The readers of instance files, which live in bench/: a truncated or malformed one is a UserError with its
// line.
#include <unistd.h>
#include <wafer/error.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "../../../bench/buffer_file.hpp"
#include "../../../bench/kernel_file.hpp"
#include "engine.hpp"

namespace fuzz {

namespace {

using namespace wafer;

std::string number(Index value) { return std::to_string(value); }

std::string draw_buffers(Random& random) {
  std::string text = "id,lower,upper,size\n";
  for (Index k = random.between(1, 20); k > 0; --k) {
    const Index begin = random.below(100);
    text += number(k) + "," + number(begin) + "," + number(begin + random.below(50)) + "," +
            number(random.below(5000)) + "\n";
  }
  return text;
}

std::string draw_kernels(Random& random) {
  std::string text =
      "(*\ntest=one\nwidth=" + number(random.between(6, 60)) + "\nheight=" + number(random.between(2, 60)) +
      "\nwdeltat=1\nwlength=1\nwadapter=0\nmemlimit=24576\n*)\n" + "input[ 0] n=[4 4 4] name='k0'\n";
  const Index kernels = random.between(1, 5);
  for (Index k = 1; k <= kernels; ++k) {
    const auto n = [&](Index most) { return number(random.between(1, most)); };
    const std::string place = "[ " + number(k) + "] ";
    switch (random.below(3)) {
      case 0:
        text += "conv" + place + "H=" + n(9) + " W=" + n(9) + " C=" + n(9) + " K=" + n(9) + " R=" + n(3) +
                " S=" + n(3) + " T=1 U=1 name='k'\n";
        break;
      case 1:
        text += "dblock" + place + "f=" + number(4 * random.between(1, 8)) + " h=7 w=5 name='k'\n";
        break;
      default: text += "cblock" + place + "f=" + number(4 * random.between(1, 8)) + " h=4 w=6 name='k'\n";
    }
  }
  text += "output[" + number(kernels + 1) + "] n=[1 1 1] name='end'\n(* Edges *)\n";
  return text;
}

void put(std::string& text, std::size_t at, std::size_t length, const std::string& instead) {
  text.replace(at, std::min(length, text.size() - at), instead);
}

// Cuts it off, changes letters, numbers or lines.
void spoil(Random& random, std::string& text) {
  const auto at = static_cast<std::size_t>(random.below(static_cast<Index>(text.size())));
  switch (random.below(6)) {
    case 0: text.resize(at); break;
    case 1: text[at] = static_cast<char>(random.below(256)); break;
    case 2: put(text, at, 1, number(hostile(random))); break;
    case 3: {
      const std::size_t digit = text.find_first_of("123456789", at);
      if (digit != text.npos)
        put(text, digit, 1,
            number(random.chance(0.5) ? hostile(random) : random.below(Index{1} << random.below(21))));
      break;
    }
    case 4: put(text, at, static_cast<std::size_t>(random.below(30)), ""); break;
    default: {
      const std::size_t begin = text.rfind('\n', at), end = text.find('\n', at);
      if (begin != text.npos && end != text.npos) text.insert(end, text.substr(begin, end - begin));
    }
  }
}

// Removed when the case ends.
class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("wafer_fuzz_" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

void run_files(Random& random, Result& result) {
  const bool buffers = random.chance(0.5);
  std::string text = buffers ? draw_buffers(random) : draw_kernels(random);
  const bool spoilt = random.chance(0.8);
  if (spoilt)
    for (Index times = random.between(1, 3); times > 0 && !text.empty(); --times) spoil(random, text);
  result.tell(text);
  const File file(text);
  try {
    if (buffers)
      wafer_bench::read_buffers(file.path());
    else
      wafer_bench::read_kernels(file.path());
    result.accepted = true;
  } catch (const UserError& error) {
    const std::string what = error.what();
    if (!spoilt && what.find("fits in no shape") == what.npos) result.fault = "refused: " + what;
    if (what.find(file.path() + ":") == what.npos) result.fault = "no line: " + what;
  }
}

}  // namespace fuzz
