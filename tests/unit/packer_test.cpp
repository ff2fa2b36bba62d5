// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/packer.hpp>
#include <wafer/error.hpp>
#include <wafer/report/packing.hpp>

#include "catch.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace wafer;

namespace {

constexpr Index kHuge = std::numeric_limits<Index>::max();

PackBuffer buffer(Index begin, Index end, Index size) {
  PackBuffer b;
  b.begin = begin;
  b.end = end;
  b.size = size;
  return b;
}

// The least height of all packings: each order of placing, each buffer as low as it can lie above all before
// it that live at the same time. Knows nothing of sections, bounds and dominance. No fixed offsets.
class BruteForce {
 public:
  explicit BruteForce(const std::vector<PackBuffer>& buffers)
      : buffers_(buffers), offsets_(buffers.size(), -1) {}
  Index height() {
    place(0, 0);
    return best_;
  }

 private:
  void place(std::size_t count, Index height) {
    if (height >= best_) return;
    if (count == buffers_.size()) best_ = height;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (offsets_[i] >= 0) continue;
      const PackBuffer& b = buffers_[i];
      Index top = 0;
      for (std::size_t j = 0; j < buffers_.size(); ++j) {
        const PackBuffer& other = buffers_[j];
        const bool together = other.begin < b.end && b.begin < other.end;
        if (offsets_[j] >= 0 && together) top = std::max(top, offsets_[j] + other.size + other.padding);
      }
      offsets_[i] = (top + b.alignment - 1) / b.alignment * b.alignment;
      place(count + 1, std::max(height, offsets_[i] + b.size + b.padding));
      offsets_[i] = -1;
    }
  }

  const std::vector<PackBuffer>& buffers_;
  std::vector<Index> offsets_;
  Index best_ = kHuge;
};

// The least height with fixed offsets: each buffer at each byte.
Index height_by_bytes(const std::vector<PackBuffer>& buffers, std::vector<Index>& offsets, Index most) {
  const std::size_t i = offsets.size();
  if (i == buffers.size()) {
    Index height = 0;
    for (std::size_t k = 0; k < i; ++k) height = std::max(height, offsets[k] + buffers[k].size);
    return height;
  }
  Index best = kHuge;
  for (Index at = 0; at + buffers[i].size <= most; ++at) {
    if (buffers[i].offset && *buffers[i].offset != at) continue;
    bool free = true;
    for (std::size_t k = 0; k < i; ++k) {
      const PackBuffer& other = buffers[k];
      const bool together = other.begin < buffers[i].end && buffers[i].begin < other.end;
      free &= !together || offsets[k] + other.size <= at || at + buffers[i].size <= offsets[k];
    }
    if (!free) continue;
    offsets.push_back(at);
    best = std::min(best, height_by_bytes(buffers, offsets, most));
    offsets.pop_back();
  }
  return best;
}

template <class E>
std::string message_of(const std::vector<PackBuffer>& buffers, const PackOptions& options = {}) {
  try {
    pack(buffers, options);
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

using Catch::Matchers::ContainsSubstring;

TEST_CASE("packer: buffers that never meet share memory") {
  const std::vector<PackBuffer> buffers{buffer(0, 2, 100), buffer(2, 4, 100), buffer(4, 6, 60)};
  const Packing p = pack(buffers);
  p.verify(buffers);
  CHECK(p.height == 100);
  CHECK(p.max_live == 100);
  CHECK(p.gap() == 0);
  CHECK(p.optimal);
  CHECK(p.offsets == std::vector<Index>{0, 0, 0});
}

TEST_CASE("packer: nothing, empty buffers and empty lifetimes take no room") {
  CHECK(pack({}).height == 0);
  CHECK(pack({}).optimal);
  const std::vector<PackBuffer> buffers{buffer(0, 5, 0), buffer(3, 3, 100), buffer(0, 5, 7)};
  const Packing p = pack(buffers);
  p.verify(buffers);
  CHECK(p.height == 7);
}

TEST_CASE("packer: sections whose bound no packing reaches are proved so") {
  // Each pair of neighbours in time must swap places: 12 bytes live at any time, 13 are needed. Found by
  // hand: x (4) and y (8) below fill 12 at t = 0; what follows cannot be cut to fit.
  const std::vector<PackBuffer> buffers{buffer(0, 2, 2), buffer(0, 1, 1), buffer(1, 3, 1), buffer(2, 4, 2),
                                        buffer(3, 4, 1), buffer(0, 1, 1), buffer(3, 4, 1)};
  const Packing p = pack(buffers);
  p.verify(buffers);
  CHECK(p.max_live == 4);
  CHECK(p.optimal);
  CHECK(p.height == BruteForce(buffers).height());
}

TEST_CASE("packer: alignment, padding and fixed offsets hold") {
  std::vector<PackBuffer> buffers{buffer(0, 4, 10), buffer(0, 4, 100), buffer(2, 6, 30), buffer(0, 6, 5)};
  buffers[0].alignment = 64;
  buffers[1].alignment = 64;
  buffers[1].padding = 28;
  buffers[2].alignment = 64;
  buffers[3].offset = 3;
  const Packing p = pack(buffers);
  p.verify(buffers);
  CHECK(p.offsets[3] == 3);
  CHECK(p.max_live == 10 + 128 + 30 + 5);
  CHECK(p.height == 64 + 128 + 64 + 10);  // the first line holds the fixed one only
}

TEST_CASE("packer: a capacity ends the search, and is proved out of reach where it is") {
  const std::vector<PackBuffer> buffers{buffer(0, 3, 4), buffer(3, 9, 4), buffer(0, 9, 4), buffer(9, 21, 4),
                                        buffer(0, 21, 4)};
  const Packing p = pack(buffers, {.capacity = 12});
  p.verify(buffers);
  CHECK(p.height == 12);
  CHECK(pack(buffers, {.capacity = 1000}).height <= 1000);
  CHECK_THAT(message_of<CompileError>(buffers, {.capacity = 11}),
             ContainsSubstring("12 bytes") && ContainsSubstring("capacity of 11"));
}

TEST_CASE("packer: bad buffers are named") {
  const std::vector<PackBuffer> fine{buffer(0, 1, 1)};
  const auto with = [&](PackBuffer b) { return std::vector<PackBuffer>{fine[0], b}; };
  CHECK_THAT(message_of<UserError>(with(buffer(5, 2, 1))),
             ContainsSubstring("buffer 1") && ContainsSubstring("backwards, from 5 to 2"));
  CHECK_THAT(message_of<UserError>(with(buffer(0, 2, -1))), ContainsSubstring("buffer 1"));
  PackBuffer b = buffer(0, 2, 1);
  b.padding = -3;
  CHECK_THAT(message_of<UserError>(with(b)), ContainsSubstring("padding of at least 0, got 1 and -3"));
  b = buffer(0, 2, 1);
  b.alignment = 0;
  CHECK_THAT(message_of<UserError>(with(b)), ContainsSubstring("alignment of at least 1, got 0"));
  b.alignment = 8;
  b.offset = 4;
  CHECK_THAT(message_of<UserError>(with(b)), ContainsSubstring("multiple of 8, got 4"));
  b.offset = -8;
  CHECK_THAT(message_of<UserError>(with(b)), ContainsSubstring("got -8"));
}

TEST_CASE("packer: sizes and sums beyond 2^63 are named") {
  CHECK_THAT(message_of<UserError>({buffer(0, 1, 1), buffer(0, 1, kHuge)}), ContainsSubstring("buffer 1"));
  CHECK_THAT(message_of<UserError>({buffer(0, 1, kHuge / 2), buffer(5, 6, kHuge / 2), buffer(8, 9, 9)}),
             ContainsSubstring("2^63"));
  PackBuffer b = buffer(0, 1, 10);
  b.offset = kHuge - 5;
  CHECK_THAT(message_of<UserError>({b}), ContainsSubstring("2^63"));
  b = buffer(0, 1, kHuge);
  b.padding = kHuge;
  CHECK_THAT(message_of<UserError>({b}), ContainsSubstring("2^63"));
  b = buffer(0, 1, 1);
  b.alignment = kHuge;
  CHECK_THAT(message_of<UserError>({b}), ContainsSubstring("2^63"));
  const std::vector<PackBuffer> large{buffer(std::numeric_limits<Index>::min(), kHuge, kHuge / 4),
                                      buffer(-5, 5, kHuge / 4)};
  const Packing p = pack(large);
  p.verify(large);
  CHECK(p.height == kHuge / 4 * 2);
}

TEST_CASE("packer: fixed offsets that overlap are named") {
  std::vector<PackBuffer> buffers{buffer(0, 4, 8), buffer(2, 6, 8), buffer(4, 6, 8)};
  buffers[0].offset = 4;
  buffers[2].offset = 5;
  pack(buffers).verify(buffers);  // never at one time
  buffers[1].offset = 0;
  CHECK_THAT(message_of<UserError>(buffers), ContainsSubstring("buffer 0") && ContainsSubstring("buffer 1"));
}

TEST_CASE("packer: verify refuses what is wrong") {
  const std::vector<PackBuffer> buffers{buffer(0, 4, 8), buffer(2, 6, 8)};
  const Packing good = pack(buffers);
  good.verify(buffers);
  const auto refused = [&](Packing p) {
    try {
      p.verify(buffers);
    } catch (const InternalError&) {
      return true;
    }
    return false;
  };
  Packing bad = good;
  bad.offsets = {0, 7};
  bad.height = 15;
  CHECK(refused(bad));
  bad = good;
  bad.offsets.pop_back();
  CHECK(refused(bad));
  bad = good;
  bad.height = 17;
  CHECK(refused(bad));
  bad = good;
  bad.max_live = 8;
  CHECK(refused(bad));
  bad = good;
  bad.optimal = false;
  CHECK(refused(bad));
  bad = good;
  bad.offsets = {-8, 8};
  CHECK(refused(bad));
  std::vector<PackBuffer> stricter = buffers;
  stricter[0].alignment = stricter[1].alignment = 16;
  CHECK_THROWS_AS(good.verify(stricter), InternalError);
}

TEST_CASE("packer: 10 000 random sets of up to 7 buffers are as low as brute force can get") {
  Random random(1);
  int proved = 0, above_bound = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::vector<PackBuffer> buffers(static_cast<std::size_t>(1 + random.below(7)));
    const bool plain = round % 3 != 0;
    for (PackBuffer& b : buffers) {
      b = buffer(random.below(7), 0, random.below(9));
      b.end = b.begin + random.below(5);
      if (plain) continue;
      b.alignment = 1 + random.below(4);
      b.padding = random.below(3);
    }
    const Packing p = pack(buffers);
    p.verify(buffers);
    // What takes no room cannot raise the height, in either.
    std::erase_if(buffers, [](const PackBuffer& b) { return b.begin == b.end || b.size + b.padding == 0; });
    const Index least = BruteForce(buffers).height();
    if (p.optimal) REQUIRE(p.height == least);
    REQUIRE(p.height >= least);
    proved += p.optimal;
    above_bound += least > p.max_live;
  }
  CHECK(proved == 10'000);
  CHECK(above_bound > 100);  // so the search had work to do
}

TEST_CASE("packer: fixed offsets, 1 000 random sets of up to 5 buffers against each byte tried") {
  Random random(2);
  int proved = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<PackBuffer> buffers;
    for (Index k = random.below(5); k >= 0; --k) {
      const Index size = 1 + random.below(3);  // drawn in this order by every compiler
      PackBuffer b = buffer(random.below(5), 0, size);
      b.end = b.begin + 1 + random.below(4);
      if (random.below(3) == 0) b.offset = random.below(5);
      buffers.push_back(b);
    }
    std::vector<Index> none;
    const Index least = height_by_bytes(buffers, none, 20);
    if (least == kHuge) {  // the fixed ones overlap
      CHECK_THROWS_AS(pack(buffers), UserError);
      continue;
    }
    const Packing p = pack(buffers);
    p.verify(buffers);
    if (p.optimal) REQUIRE(p.height == least);
    REQUIRE(p.height >= least);
    proved += p.optimal;
  }
  CHECK(proved > 700);
}

TEST_CASE("packer: many buffers, of short and of long lives") {
  for (const Index longest : {20, 2000}) {
    Random random(static_cast<std::uint64_t>(longest));
    std::vector<PackBuffer> buffers(4000);
    for (PackBuffer& b : buffers) {
      b = buffer(random.below(4000), 0, 1 + random.below(1000));
      b.end = b.begin + 1 + random.below(longest);
      b.alignment = Index{1} << random.below(7);
    }
    const Packing p = pack(buffers, {.effort = 20'000'000});
    p.verify(buffers);
    CHECK(static_cast<double>(p.height) <= 1.1 * static_cast<double>(p.max_live));
    CHECK(pack(buffers, {.effort = 20'000'000}).offsets == p.offsets);
  }
}

TEST_CASE("packer: its picture shows buffers, padding and both lines") {
  std::vector<PackBuffer> buffers{buffer(0, 2, 100), buffer(1, 4, 50)};
  buffers[1].padding = 14;
  const Packing p = pack(buffers);
  const std::string svg = packing_svg(buffers, p);
  CHECK_THAT(svg, ContainsSubstring("2 buffers, height 164 bytes, max-live bound 164 (proved lowest)") &&
                      ContainsSubstring("buffer 1: 50 bytes at") && ContainsSubstring("(padding)"));
  CHECK_THAT(svg, ContainsSubstring(">4</text>") && ContainsSubstring("so no packing is lower") &&
                      !ContainsSubstring("(given)"));
  buffers[0].offset = 64;
  CHECK_THAT(packing_svg(buffers, pack(buffers)), ContainsSubstring("buffer 0: 100 bytes at 64 (given)"));
  // Moments whose distance is no number have no marks.
  std::vector<PackBuffer> eternal{buffer(INT64_MIN, INT64_MAX, 1)};
  CHECK_THAT(packing_svg(eternal, pack(eternal)), ContainsSubstring("1 bytes at 0"));
  CHECK_THROWS_AS(packing_svg(buffers, Packing{}), UserError);
  CHECK_THAT(packing_svg({}, pack({})), ContainsSubstring("0 buffers"));
}

TEST_CASE("packer: verify and pictures refuse buffers that cannot be packed, and offsets that cannot be") {
  const std::vector<PackBuffer> right{buffer(0, 2, 4), buffer(1, 3, 4)};
  const Packing packing = pack(right);
  const auto refused = [&](auto change) {
    std::vector<PackBuffer> wrong = right;
    change(wrong[1]);
    CHECK_THROWS_AS(packing.verify(wrong), UserError);
    CHECK_THROWS_AS(packing_svg(wrong, packing), UserError);
  };
  refused([](PackBuffer& b) { b.alignment = 0; });
  refused([](PackBuffer& b) { b.alignment = -4; });
  refused([](PackBuffer& b) { b.size = -4; });
  refused([](PackBuffer& b) { b.size = kHuge; });
  refused([](PackBuffer& b) { b.padding = kHuge; });
  refused([](PackBuffer& b) { b.begin = 4; });
  Packing wrong = packing;
  wrong.offsets[1] = kHuge;
  CHECK_THROWS_AS(packing_svg(right, wrong), InternalError);
  wrong = packing;
  wrong.height = -kHuge;
  CHECK_THROWS_AS(packing_svg(right, wrong), InternalError);
}
