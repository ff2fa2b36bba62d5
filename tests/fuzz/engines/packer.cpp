// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/compiler/packer.hpp>
#include <wafer/error.hpp>
#include <wafer/report/packing.hpp>

#include <algorithm>

#include "engine.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kMostEffort = 2'000'000;

std::string text_of(const std::vector<PackBuffer>& buffers, const PackOptions& options) {
  std::string text = std::to_string(buffers.size()) + " buffers, capacity " +
                     (options.capacity ? std::to_string(*options.capacity) : "none") + ", effort " +
                     std::to_string(options.effort) + ":";
  for (std::size_t k = 0; k < buffers.size() && k < 12; ++k) {
    const PackBuffer& b = buffers[k];
    text += " {size " + std::to_string(b.size) + ", [" + std::to_string(b.begin) + ", " +
            std::to_string(b.end) + "), alignment " + std::to_string(b.alignment) + ", padding " +
            std::to_string(b.padding) + (b.offset ? ", at " + std::to_string(*b.offset) : "") + "}";
  }
  return text;
}

// A good buffer, in one of the ways in which lifetimes come: anywhere, nested, a chain, all at one time.
PackBuffer draw_buffer(Random& random, Index k, Index count, int shape) {
  PackBuffer b;
  b.size = random.below(random.pick(std::vector<Index>{2, 10, 1000, Index{1} << 40}));
  const Index span = count + 3;
  switch (shape) {
    case 0:
      b.begin = random.below(span);
      b.end = b.begin + random.below(span / 4 + 2);
      break;
    case 1:
      b.begin = k;
      b.end = 2 * count - k;
      break;
    case 2:
      b.begin = k;
      b.end = k + random.between(1, 4);
      break;
    default: b.begin = -5; b.end = 5;
  }
  if (random.chance(0.2)) b.alignment = Index{1} << random.below(8);
  if (random.chance(0.05)) b.alignment = random.between(1, 100);
  if (random.chance(0.1)) b.padding = random.below(40);
  return b;
}

// Fixed offsets that overlap nothing: the first buffers, stacked.
void fix_some(Random& random, std::vector<PackBuffer>& buffers) {
  Index top = 0;
  for (PackBuffer& b : buffers) {
    if (random.chance(0.7)) continue;
    top += random.below(50);
    top = (top + b.alignment - 1) / b.alignment * b.alignment;
    b.offset = top;
    top += b.size + b.padding;
  }
}

void spoil(Random& random, std::vector<PackBuffer>& buffers, PackOptions& options) {
  if (buffers.empty() || random.chance(0.2)) {
    (random.chance(0.5) ? options.effort : options.capacity.emplace()) = hostile(random);
    return;
  }
  for (Index times = random.between(1, 3); times > 0; --times) {
    PackBuffer& b = buffers[static_cast<std::size_t>(random.below(static_cast<Index>(buffers.size())))];
    switch (random.below(6)) {
      case 0: b.size = hostile(random); break;
      case 1: b.begin = hostile(random); break;
      case 2: b.end = hostile(random); break;
      case 3: b.alignment = hostile(random); break;
      case 4: b.padding = hostile(random); break;
      default: b.offset = hostile(random);
    }
  }
}

void tamper(Random& random, Packing& packing) {
  switch (random.below(5)) {
    case 0: packing.height = hostile(random); break;
    case 1: packing.max_live = hostile(random); break;
    case 2: packing.optimal = !packing.optimal; break;
    case 3: packing.offsets.resize(static_cast<std::size_t>(random.below(10))); break;
    default:
      if (!packing.offsets.empty())
        packing.offsets[static_cast<std::size_t>(random.below(static_cast<Index>(packing.offsets.size())))] =
            hostile(random);
  }
}

// The same input gives the same packing; and no search, short or long, gets below an optimal one.
std::string check_again(const std::vector<PackBuffer>& buffers, PackOptions options, const Packing& packing) {
  const Packing same = pack(buffers, options);
  if (same.offsets != packing.offsets) return "another packing the second time";
  options.effort = options.effort == kMostEffort ? 0 : kMostEffort;
  options.capacity.reset();
  const Packing other = pack(buffers, options);
  if (packing.optimal && other.height < packing.height)
    return "called optimal at " + std::to_string(packing.height) + ", but there is one of " +
           std::to_string(other.height);
  return "";
}

}  // namespace

void run_packer(Random& random, Result& result) {
  const Index count = random.below(random.pick(std::vector<Index>{3, 10, 60, 400}));
  const int shape = static_cast<int>(random.below(4));
  std::vector<PackBuffer> buffers;
  for (Index k = 0; k < count; ++k) buffers.push_back(draw_buffer(random, k, count, shape));
  if (random.chance(0.2)) fix_some(random, buffers);
  PackOptions options;
  options.effort = random.pick(std::vector<Index>{0, 1000, 50'000, 50'000, kMostEffort});
  const bool spoilt = random.chance(0.4), limited = random.chance(0.2);
  if (limited) options.capacity = random.below(Index{1} << random.between(1, 45));
  if (spoilt) spoil(random, buffers, options);
  options.effort = std::min(options.effort, kMostEffort);
  result.tell(text_of(buffers, options));
  Packing packing;
  try {
    packing = pack(buffers, options);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    if (!spoilt && !limited) result.fault = std::string("refused: ") + error.what();
    return;
  }
  result.accepted = true;
  packing.verify(buffers);
  if (packing.height < packing.max_live) result.fault = "lower than the bound";
  if (options.capacity && packing.height > *options.capacity) result.fault = "higher than the capacity";
  if (random.chance(0.2) && packing_svg(buffers, packing).empty()) result.fault = "nothing to show";
  if (result.fault.empty() && random.chance(0.2)) result.fault = check_again(buffers, options, packing);
  if (random.chance(0.7))
    tamper(random, packing);
  else
    spoil(random, buffers, options);
  try {
    packing.verify(buffers);
    packing_svg(buffers, packing);
  } catch (const Error&) {
  }
}

}  // namespace fuzz
