// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena.hpp"

#include <wafer/core/shape.hpp>
#include <wafer/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace wafer::inline v0 {

namespace {

constexpr Index kAlignment = 64;
constexpr Index kHugePage = Index{2} << 20;

// `bytes` of fresh memory at a multiple of `alignment`, both whole pages; null where there is none.
std::byte* map_aligned(Index bytes, Index alignment, Index page) {
  const Index slack = alignment - page;
  void* const memory = mmap(nullptr, static_cast<std::size_t>(bytes + slack), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const Index over =
      static_cast<Index>(reinterpret_cast<std::uintptr_t>(begin) % static_cast<std::uintptr_t>(alignment));
  const Index before = over == 0 ? 0 : alignment - over;
  if (before > 0) munmap(begin, static_cast<std::size_t>(before));
  if (before < slack) munmap(begin + before + bytes, static_cast<std::size_t>(slack - before));
  return begin + before;
}

}  // namespace

Arena::Arena(Index bytes) {
  if (bytes == 0) return;
  const Index page = static_cast<Index>(sysconf(_SC_PAGESIZE));
  const Index planned = round_up(bytes, kAlignment);
  const Index pages = round_up(planned, page);
  // Rows of a matrix lie on many pages: large ones spare the CPU the search for where these are.
  const bool huge = pages >= 2 * kHugePage;
  mapping_ = map_aligned(pages + page, huge ? kHugePage : page, page);
  if (mapping_ == nullptr) {
    throw RunError("session: expected " + std::to_string(bytes) +
                   " bytes of memory for an arena, got none from the system");
  }
  mapping_bytes_ = static_cast<std::size_t>(pages);
  if (huge) madvise(mapping_, mapping_bytes_, MADV_HUGEPAGE);  // else it is only slower
  data_ = mapping_ + (pages - planned);
  mprotect(mapping_ + pages, static_cast<std::size_t>(page), PROT_NONE);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

Arena::~Arena() {
  if (mapping_) munmap(mapping_, mapping_bytes_ + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace wafer::inline v0
